import { randomUUID } from "node:crypto";
import { sql } from "../../../sql/db.js";
import { insertMenuImport } from "../../../sql/queries/menu-imports.js";
import { among, foreign, type Expectations } from "./scene.js";

const imports = "/api/v1/menu/import/csv";
const columns = ["name", "category", "price"] as const;

export const menu: Expectations = {
  "GET /api/v1/menu/items": { ask: (as) => as.get("/api/v1/menu/items"), answer: "200" },
  "GET /api/v1/menu/categories": { ask: (as) => as.get("/api/v1/menu/categories"), answer: "200" },
  "POST /api/v1/menu/items": {
    ask: (as) => as.post("/api/v1/menu/items", { name: "Багет", category: "Хлеб", price: 1 }),
    answer: "201",
  },
  "PUT /api/v1/menu/items/:id": {
    ask: (as, { itemId }) => as.put(`/api/v1/menu/items/${itemId}`, { price: 1, category: "Чужое" }),
    answer: "200",
    except: foreign("bakery"),
  },
  "DELETE /api/v1/menu/items/:id": {
    ask: (as, { itemId }) => as.delete(`/api/v1/menu/items/${itemId}`),
    answer: "200",
    except: foreign("bakery"),
  },
  [`POST ${imports}`]: {
    // every caller who may import a menu gets the validation errors
    ask: (as) => as.post(imports, "name", { headers: { "content-type": "text/csv" } }),
    answer: "400 VALIDATION_ERROR",
    except: among(["rejected partner", "suspended partner"], "403 FORBIDDEN"),
  },
  [`GET ${imports}/:importId`]: {
    prepare: ({ bakeryId: partnerId }) =>
      insertMenuImport(sql, {
        partnerId,
        columns,
        delimiter: ",",
        fileKey: randomUUID(),
        size: 20,
        position: 20,
        lines: 1,
      }),
    ask: (as, _scene, id) => as.get(`${imports}/${id}`),
    answer: "200",
    except: foreign("bakery"),
  },
  "POST /api/v1/menu/pos/sync": {
    ask: (as) => as.post("/api/v1/menu/pos/sync"),
    // no partner here has a POS
    answer: "409 CONFLICT",
    except: among(["rejected partner", "suspended partner"], "403 FORBIDDEN"),
  },
  "GET /api/v1/menu/pos/sync/:id": {
    prepare: async ({ bakeryId }) => {
      const [sync] = await sql<{ id: string }[]>`
        insert into pos_syncs (partner_id, status, settled_at) values (${bakeryId}::uuid, 'DONE', now()) returning id`;
      return sync?.id ?? randomUUID();
    },
    ask: (as, _scene, id) => as.get(`/api/v1/menu/pos/sync/${id}`),
    answer: "200",
    except: foreign("bakery"),
  },
};

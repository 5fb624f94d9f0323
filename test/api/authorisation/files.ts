import { randomUUID } from "node:crypto";
import { fileForm, pdf } from "../../support/pictures.js";
import { foreign, type Expectations, type Scene } from "./scene.js";

const path = "/api/v1/files";
const upload = async ({ callers: { customer } }: Scene) =>
  (await customer.post(`${path}/upload`, fileForm(pdf, "application/pdf"))).string("fileId");
/** A started upload in parts. */
const begin = async ({ callers: { customer } }: Scene) => {
  const large = Buffer.concat([pdf, Buffer.alloc(11 * 1_048_576)]);
  return (await customer.post(`${path}/upload`, fileForm(large, "application/pdf"))).string("fileId");
};

export const files: Expectations = {
  [`POST ${path}/upload`]: { ask: (as) => as.post(`${path}/upload`, fileForm(pdf, "application/pdf")), answer: "201" },
  [`GET ${path}`]: { ask: (as) => as.get(path), answer: "200" },
  [`GET ${path}/:id`]: {
    prepare: upload,
    ask: (as, _scene, id) => as.get(`${path}/${id}`),
    answer: "200",
    except: foreign("customer"),
  },
  [`POST ${path}/:id/complete`]: {
    prepare: begin,
    ask: (as, _scene, id) => as.post(`${path}/${id}/complete`, { parts: [{ partNumber: 1, etag: randomUUID() }] }),
    answer: "400 VALIDATION_ERROR",
    except: foreign("customer"),
  },
  [`DELETE ${path}/:id`]: {
    prepare: upload,
    ask: (as, _scene, id) => as.delete(`${path}/${id}`),
    answer: "204",
    except: foreign("customer"),
  },
};

import { readFile } from "node:fs/promises";
import { approvePartner, done, importMenu, readMenuImport, registerPartner } from "../client/src/index.js";
import { until, type Caller } from "./http.js";

/** Sends a menu from this folder, as a partner's spreadsheet saved it, and returns the worker's result. */
export async function sendMenu({ session }: Caller, name: string) {
  const bytes = new Uint8Array(await readFile(new URL(`./menus/${name}`, import.meta.url)));
  const file = new Blob([bytes], { type: "text/csv" });
  const sent = await done(importMenu({ body: { file } }, session));
  if (!("importId" in sent)) return sent;
  return until("the result of the import", async () => {
    const found = await done(readMenuImport({ importId: sent.importId }, session));
    return found.status === "QUEUED" || found.status === "RUNNING" ? undefined : found;
  });
}

const elsewhere = [
  { name: "Corner Café", file: "cafe.en.csv", sees: "English" },
  { name: "Konditorei am Markt", file: "konditorei.de.csv", sees: "German, with semicolons and decimal commas" },
  { name: "რესტორანი თბილისი", file: "restaurant.ka.csv", sees: "Georgian" },
  { name: "Լավաշ տուն", file: "lavash.hy.csv", sees: "Armenian" },
  { name: "Нан үйі", file: "naan.kk.csv", sees: "Kazakh, with semicolons and a byte order mark" },
];

/** Imports menus of partners in other countries, each as their spreadsheet saves it. */
export async function importElsewhere(scene: {
  anyone: Caller;
  admin: Caller;
  code: string;
  newPhone: () => string;
  print: (line: string) => void;
}): Promise<void> {
  const { anyone, admin, code, newPhone, print } = scene;
  for (const { name, file, sees } of elsewhere) {
    const phone = newPhone();
    const place = { cityId: "moscow", address: "Тверская улица, 2", latitude: 55.7576, longitude: 37.6136 };
    const { id } = await done(registerPartner({ body: { name, phone, ...place } }, anyone.session));
    await done(approvePartner({ id }, admin.session));
    const owner = await anyone.signIn(phone, code);
    const { created, failed } = await sendMenu(owner, file);
    print(`10:00  ${name} sends its menu in ${sees}: ${created} items, ${failed} refused.`);
  }
}

import { readFile } from "node:fs/promises";
import type { Caller } from "./http.js";

/** Reads a menu from this folder, as a partner's spreadsheet saved it. */
export const readMenu = async (name: string) => ({
  bytes: new Uint8Array(await readFile(new URL(`./menus/${name}`, import.meta.url))),
  type: "text/csv",
});

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
    const { body } = await anyone.call("POST", "/partners/register", { name, phone, ...place });
    await admin.call("PUT", `/admin/partners/${String(body["id"])}/approve`);
    const owner = await anyone.signIn(phone, code);
    const imported = await owner.upload("/menu/import/csv", await readMenu(file));
    const { created, failed } = imported.body;
    print(`10:00  ${name} sends its menu in ${sees}: ${String(created)} items, ${String(failed)} refused.`);
  }
}

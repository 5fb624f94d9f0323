import { readFile } from "node:fs/promises";
import type { Caller } from "./http.js";

/** A menu of this folder, as its partner's spreadsheet saved it. */
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

/** Partners of other countries send their menus too, each as their own spreadsheet writes it. */
export async function importElsewhere(scene: {
  anyone: Caller;
  admin: Caller;
  code: string;
  newPhone: () => string;
  tell: (line: string) => void;
}): Promise<void> {
  const { anyone, admin, code, newPhone, tell } = scene;
  for (const { name, file, sees } of elsewhere) {
    const phone = newPhone();
    const place = { cityId: "moscow", address: "Тверская улица, 2", latitude: 55.7576, longitude: 37.6136 };
    const { body } = await anyone.call("POST", "/partners/register", { name, phone, ...place });
    await admin.call("PUT", `/admin/partners/${String(body["id"])}/approve`);
    const owner = await anyone.signIn(phone, code);
    const imported = await owner.upload("/menu/import/csv", await readMenu(file));
    const { created, failed } = imported.body;
    tell(`10:00  ${name} sends its menu in ${sees}: ${String(created)} items, ${String(failed)} refused.`);
  }
}

import {
  done,
  listMenuItems,
  logIn,
  openSession,
  placeOrderOnce,
  readProfile,
  rows,
  sendLoginCode,
  upload,
} from "surplus-food-client";

/** What an app in a browser does with the client; the test runs it in a page of another origin than the API's. */

/** Keeps tokens for all tabs, as the client's README shows. */
const store = {
  read: () => JSON.parse(localStorage.getItem("tokens") ?? "null"),
  write: (tokens) => localStorage.setItem("tokens", JSON.stringify(tokens)),
  alone: (work) => navigator.locks.request("tokens", work),
};

let refreshes = 0;
let cut = null;
const watched = (address, init) => {
  if (address.endsWith("/token/refresh")) refreshes += 1;
  if (cut?.(address, init)) return Promise.reject(new TypeError("offline"));
  return fetch(address, init);
};

const open = (baseUrl) => openSession({ baseUrl, store, fetch: watched, attempts: 1 });

window.app = {
  async logIn(baseUrl, phone, code) {
    const session = open(baseUrl);
    await done(sendLoginCode({ body: { phone } }, session));
    await store.write(await done(logIn({ body: { phone, code } }, session)));
    return (await done(readProfile({}, session))).phone;
  },

  /** Makes the API refuse the access token. */
  spoilToken() {
    store.write({ ...store.read(), accessToken: "spoilt" });
  },

  async readAtOnce(baseUrl, count) {
    const session = open(baseUrl);
    const answers = await Promise.all(Array.from({ length: count }, () => readProfile({}, session)));
    return { statuses: answers.map(({ status }) => status), refreshes };
  },

  async order(baseUrl, partnerId, menuItemId) {
    const order = { items: [{ menuItemId, qty: 1 }], totalAmount: 60, partnerId };
    return (await placeOrderOnce(order, open(baseUrl))).status;
  },

  async readNames(baseUrl) {
    const names = [];
    for await (const { name } of rows((page) => listMenuItems({ ...page, limit: 2 }, open(baseUrl)))) names.push(name);
    return names;
  },

  /** Uploads a PDF of this size; the connection is cut before the second part, and the upload resumed. */
  async upload(baseUrl, bytes) {
    const file = new Blob(["%PDF-1.4\n", new Uint8Array(bytes - 9)], { type: "application/pdf" });
    const seen = [];
    const onProgress = (progress) => seen.push(progress);
    cut = (_address, init) => init?.method === "PUT" && seen.length === 2;
    const failed = await upload(file, open(baseUrl), { onProgress }).catch((error) => error.message);
    cut = null;
    const { begun } = seen.at(-1);
    const stored = await upload(file, open(baseUrl), { begun, onProgress });
    return { failed, sizes: seen.map(({ sentBytes }) => sentBytes), stored: stored.size };
  },
};

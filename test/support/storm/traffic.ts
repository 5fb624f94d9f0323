import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../api.js";
import { newPhone, signIn, type Character } from "../cast.js";
import type { OwnPostgres } from "../own-postgres.js";
import { pictureBytes } from "../pictures.js";
import type { Random } from "../random.js";
import { settle, untried, type Journal, type Move, type OrderTaken } from "./journal.js";
import { openMarket, promos, type Market, type Product, type Seller } from "./market.js";
import * as requests from "./requests.js";
import type { StandIns } from "./stand-ins.js";

/**
 * Clients pause while more jobs than this wait for their first attempt, so that a slow machine does not look like a service
 * that fails to recover.
 */
const LONGEST_BACKLOG = 150;
const ROWS_PER_MENU = 40;

/** What clients know and use. */
interface Scene {
  market: Market;
  journal: Journal;
  /** Acknowledged orders that may be moved. */
  waiting: OrderTaken[];
  picture: Uint8Array;
  ask: OwnPostgres["ask"];
  random: Random;
}

/** Something that clients do again and again. */
interface Kind {
  name: string;
  clients: number;
  /** The shortest and longest pause between two times. */
  pauseMs: readonly [number, number];
  act: (scene: Scene, client: number) => Promise<void>;
}

const isMenuItem = ({ stock }: Product) => stock === null;

function newOrder(
  { journal, random }: Scene,
  { buyerId, seller }: Pick<OrderTaken, "buyerId" | "seller">,
  products: readonly Product[],
): OrderTaken {
  const lines = products.map(({ id }) => ({ id, qty: random.between(1, 2) }));
  const promoCode = buyerId !== null && random.between(1, 4) === 1 ? random.pick(promos).code : null;
  const order = {
    ...untried(),
    ...{ key: randomUUID(), buyerId, seller, lines, promoCode },
    ...{ orderId: null, moves: [], review: null },
  };
  journal.orders.push(order);
  return order;
}

async function order(scene: Scene, client: number): Promise<void> {
  const { market, random, waiting } = scene;
  const customer = ofClient(market.customers, client);
  const seller = random.pick(market.sellers);
  const products = random.shuffle(seller.products).slice(0, random.between(1, 2));
  const placed = newOrder(scene, { buyerId: customer.id, seller }, products);
  await settle(placed, () => requests.place(placed, customer), random);
  if (placed.outcome === "ok") waiting.push(placed);
}

const ways = [
  [],
  ["READY"],
  ["READY", "COMPLETED", "review"],
  ["COMPLETED", "review"],
  ["COMPLETED"],
  ["CANCELLED"],
  ["READY", "CANCELLED"],
] as const;

function newMove({ seller, buyerId, moves }: OrderTaken, status: Move["status"], random: Random): Move {
  // a customer may not cancel what is ready
  const byCustomer = status === "CANCELLED" && moves.length === 0 && random.between(0, 1) === 0;
  const actorId = byCustomer ? buyerId : seller.owner.id;
  const moved: Move = { ...untried(), status, by: byCustomer ? "CUSTOMER" : "PARTNER", actorId };
  moves.push(moved);
  return moved;
}

/** Takes an order on one of the ways that orders go, as far as it is acknowledged. */
async function moveOrder({ market, waiting, random }: Scene): Promise<void> {
  const [taken] = waiting.splice(random.between(0, Math.max(waiting.length - 1, 0)), 1);
  const customer = market.customers.find(({ id }) => id === taken?.buyerId);
  if (taken === undefined || customer === undefined) return;
  for (const step of random.pick(ways)) {
    if (step === "review") {
      const review = { ...untried(), rating: random.between(1, 5) };
      taken.review = review;
      await settle(review, () => requests.review(taken, review.rating, customer), random);
    } else {
      const moved = newMove(taken, step, random);
      await settle(moved, () => requests.move(taken, moved, customer), random);
      if (moved.outcome !== "ok") return;
    }
  }
}

/** POS systems send some events twice, whatever the answer. */
async function sellAtTill(scene: Scene, client: number): Promise<void> {
  const { market, random } = scene;
  const seller = ofClient(market.sellers, client);
  const sold = newOrder(scene, { buyerId: null, seller }, seller.products.filter(isMenuItem));
  const placed = requests.tillOrder(sold);
  const send = (event: typeof placed) => requests.sendEvent(event, seller, market.client);
  await settle(sold, () => send(placed), random);
  if (random.between(1, 3) === 1) await send(placed);
  if (sold.outcome !== "ok" || random.between(1, 2) === 1) return;
  for (const status of ["READY", "COMPLETED"] as const) {
    const moved: Move = { ...untried(), status, by: "PARTNER", actorId: null };
    sold.moves.push(moved);
    const event = requests.tillMove(sold, moved);
    await settle(moved, () => send(event), random);
    if (moved.outcome !== "ok") return;
  }
}

async function askForCode({ market, journal, random }: Scene): Promise<void> {
  const code = { ...untried(), phone: newPhone() };
  journal.codes.push(code);
  await settle(code, () => requests.sendCode(code, market.client), random);
}

async function importMenu({ market, journal, random }: Scene, client: number): Promise<void> {
  const file = randomUUID();
  const names = Array.from({ length: ROWS_PER_MENU }, (_, n) => `${file} ${n}`);
  const menu = { ...untried(), seller: ofClient(market.sellers, client), names, importId: null };
  journal.menus.push(menu);
  await settle(menu, () => requests.sendMenu(menu), random);
}

async function syncMenu({ market, journal, random }: Scene): Promise<void> {
  const sync = { ...untried(), seller: random.pick(market.sellers) };
  journal.syncs.push(sync);
  await settle(sync, () => requests.pullMenu(sync.seller), random);
}

async function uploadPicture({ market, journal, picture, random }: Scene): Promise<void> {
  const customer = random.pick(market.customers);
  const sent = { ...untried(), fileId: null };
  journal.pictures.push(sent);
  await settle(sent, () => requests.sendPicture(sent, picture, customer), random);
}

/** Rolls up the day that is not over: each of its orders then changes a day that is rolled up. */
async function rollUp({ ask }: Scene): Promise<void> {
  await ask("select roll_up((now() at time zone 'Europe/Moscow')::date, 'Europe/Moscow')");
}

const kinds: readonly Kind[] = [
  { name: "a customer orders", clients: 8, pauseMs: [20, 150], act: order },
  { name: "orders are moved and reviewed", clients: 3, pauseMs: [20, 150], act: moveOrder },
  { name: "a till reports its sales", clients: 3, pauseMs: [50, 300], act: sellAtTill },
  { name: "a stranger asks for a code", clients: 2, pauseMs: [50, 300], act: askForCode },
  { name: "a seller imports a menu", clients: 3, pauseMs: [1_000, 4_000], act: importMenu },
  { name: "a seller pulls the menu of the POS", clients: 1, pauseMs: [500, 2_000], act: syncMenu },
  { name: "a customer uploads a picture", clients: 1, pauseMs: [200, 1_000], act: uploadPicture },
  { name: "the day is rolled up", clients: 1, pauseMs: [500, 2_000], act: rollUp },
];

/** Jobs that are neither done nor dead, without reminders of pickups much later. */
export const openJobs =
  "from staged_jobs where done_at is null and dead_at is null and payload ->> 'event' is distinct from 'PICKUP_SOON'";

/** What the client with this number plays. */
function ofClient<T>(all: readonly T[], client: number): T {
  const one = all[client % all.length];
  if (one === undefined) throw new Error("there is no one to play");
  return one;
}

/** Running clients. */
export interface Clients {
  market: Market;
  /** Orders a menu item; resolves when the order is acknowledged. */
  placeOne(): Promise<OrderTaken>;
  /** Resolves as `work` does, or rejects when a client gets an answer that it must not get. */
  during<T>(work: Promise<T>): Promise<T>;
  /** Lets every client finish what it does; returns all requests and outcomes. */
  finish(): Promise<Journal>;
}

/** Runs clients of every kind until `finish` is called. */
export async function startTraffic(
  client: Client,
  standIns: StandIns,
  ask: OwnPostgres["ask"],
  random: Random,
): Promise<Clients> {
  const market = await openMarket(client, standIns);
  const journal: Journal = { orders: [], codes: [], menus: [], pictures: [], syncs: [] };
  const scene: Scene = { market, journal, waiting: [], picture: await pictureBytes(), ask, random };
  let enough = false;
  let backlog = 0;
  const goesOn = () => !enough;

  const { operator, sellers, customers } = market;
  const characters = [operator, ...sellers.map(({ owner }) => owner), ...customers];
  /** A storm may last for hours, a token lasts for 15 minutes. */
  const renewTokens = async (): Promise<void> => {
    for (let tick = 1; goesOn(); tick += 1) {
      if (tick % 300 === 0) await Promise.all(characters.map(signIn));
      await delay(1_000);
    }
  };
  const watchBacklog = async (): Promise<void> => {
    while (goesOn()) {
      const [jobs] = await ask<{ open: number }>(
        `select count(*)::integer as open ${openJobs} and run_at <= now() and last_error is null`,
      );
      backlog = jobs?.open ?? 0;
      await delay(250);
    }
  };
  const keepActing = async ({ name, act, pauseMs: [least, most] }: Kind, n: number): Promise<void> => {
    while (goesOn()) {
      await act(scene, n).catch((cause: unknown) => {
        throw new Error(`while ${name}: ${String(cause)}`, { cause });
      });
      do await delay(random.between(least, most));
      while (backlog > LONGEST_BACKLOG && goesOn());
    }
  };
  const running = Promise.all([
    watchBacklog(),
    renewTokens(),
    ...kinds.flatMap((kind) => Array.from({ length: kind.clients }, (_, n) => keepActing(kind, n))),
  ]);
  running.catch(() => (enough = true));

  return {
    market,
    placeOne: async () => {
      const customer: Character = random.pick(market.customers);
      const seller: Seller = random.pick(market.sellers);
      const placed = newOrder(scene, { buyerId: customer.id, seller }, seller.products.filter(isMenuItem));
      placed.promoCode = null;
      while (placed.outcome !== "ok") await settle(placed, () => requests.place(placed, customer), random);
      return placed;
    },
    during: <T>(work: Promise<T>) => Promise.race([work, running.then(() => work)]),
    finish: async () => {
      enough = true;
      await running;
      return journal;
    },
  };
}

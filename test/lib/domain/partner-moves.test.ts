import { expect, test } from "@jest/globals";
import { partnerMoves } from "../../../lib/domain/partner-moves.js";

test("an admin may make exactly these moves", () => {
  const moves = Object.values(partnerMoves).flatMap(({ from, to }) => from.map((status) => `${status} → ${to}`));
  expect(moves.sort()).toEqual([
    "ACTIVE → SUSPENDED",
    "PENDING_REVIEW → ACTIVE",
    "PENDING_REVIEW → REJECTED",
    "PENDING_REVIEW → SUSPENDED",
    "REJECTED → ACTIVE",
    "SUSPENDED → ACTIVE",
  ]);
});

import { expect, test } from "@jest/globals";
import { campaignMoves } from "../../../lib/domain/campaign-moves.js";

test("a campaign allows exactly these moves", () => {
  const moves = Object.values(campaignMoves).flatMap(({ from, to }) => from.map((status) => `${status} → ${to}`));
  expect(moves.sort()).toEqual([
    "ACTIVE → COMPLETED",
    "ACTIVE → PAUSED",
    "DRAFT → ACTIVE",
    "PAUSED → ACTIVE",
    "PAUSED → COMPLETED",
  ]);
});

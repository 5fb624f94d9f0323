import { z } from "zod";
import { upkeepTasks } from "../../../queues/upkeep.js";
import { MOST_DAYS, rollUpNow, runUpkeepNow, wrongDays } from "../../common/operate.js";
import { accepted, section } from "../../http/endpoint.js";
import { Day } from "../../http/schemas.js";
import { JobNumber, Why } from "./schemas.js";

/** Runs of upkeep and of rollups beside their schedules. */
export const runs = section({ prefix: "/admin/ops", tag: "Operations" });

runs.post(
  "/upkeep/:task/run",
  {
    name: "runUpkeepTask",
    summary: "Run an upkeep task now, beside its schedule",
    auth: "ADMIN",
    params: z.object({ task: z.enum(upkeepTasks).meta({ example: "no-shows" }) }),
    body: z.object({ why: Why }),
    answers: { 202: z.object({ jobId: JobNumber }) },
  },
  async ({ user, params: { task }, body: { why }, requestId }) => {
    const jobId = await runUpkeepNow(task, { actorId: user.id, why }, requestId);
    return accepted({ jobId }, `/api/v1/admin/ops/search?q=${jobId}`);
  },
);

runs.post(
  "/rollups/run",
  {
    name: "runRollups",
    summary: "Roll up past days again, each as a job",
    description: `Both ends are included; ${MOST_DAYS} days at most.`,
    auth: "ADMIN",
    body: z.object({ from: Day, to: Day, why: Why }),
    answers: { 202: z.object({ days: z.int() }) },
    errors: [wrongDays],
  },
  async ({ user, body: { why, ...days }, requestId }) =>
    accepted(
      { days: await rollUpNow(days, { actorId: user.id, why }, requestId) },
      "/api/v1/admin/ops/jobs?queue=rollups&state=DUE",
    ),
);

import cluster from "node:cluster";
import { availableParallelism } from "node:os";
import { config } from "../lib/config.js";
import { log } from "../lib/log.js";

export * from "./answers.js";
export * from "./operations.js";
export * from "./orders.js";
export * from "./pages.js";
export * from "./session.js";
export * from "./streams.js";
export * from "./upload.js";

import { dirname, join, relative, sep } from "node:path";

const isIn = (path, place) => path === place || path.startsWith(`${place}/`);

/** The room with the longest path that contains this one; `*` stands for any one folder, each a room of its own. */
const roomOf = (path, names) => {
  const places = names.flatMap((name) => {
    if (!name.endsWith("/*")) return isIn(path, name) ? [{ name, place: name }] : [];
    const folder = name.slice(0, -2);
    const [own, ...rest] = path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split("/") : [];
    return own !== undefined && rest.length > 0 ? [{ name, place: `${folder}/${own}` }] : [];
  });
  return places.sort((a, b) => b.place.length - a.place.length)[0];
};

/** Reports imports of rooms that the file's room may not import, and of packages outside their homes. */
export const imports = {
  meta: { type: "problem", schema: [{ type: "object" }] },
  create(context) {
    const { rooms, homes } = context.options[0];
    const path = relative(context.cwd, context.filename).split(sep).join("/");
    const room = roomOf(path, Object.keys(rooms));
    if (!room) return {};

    const refusal = (specifier) => {
      if (!specifier.startsWith(".")) {
        const home = homes.find(({ packages }) => packages.some((name) => isIn(specifier, name)));
        return home && !home.rooms.some((place) => isIn(path, place))
          ? `${specifier} is only for ${home.rooms.join(", ")}.`
          : undefined;
      }
      const target = join(dirname(path), specifier).split(sep).join("/").replace(/\.js$/, ".ts");
      const theirs = roomOf(target, Object.keys(rooms));
      const allowed = !theirs || isIn(theirs.place, room.place) || rooms[room.name].some((name) => isIn(target, name));
      return allowed ? undefined : `${room.place} may not import ${theirs.place}.`;
    };
    const check = (node) => {
      if (node.source?.type !== "Literal") return;
      const message = refusal(String(node.source.value));
      if (message) context.report({ node: node.source, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};

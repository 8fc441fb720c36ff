// gitlab-ci-local uses methods of Set that Node.js has from version 22 on.
const methods = {
  union(other) {
    return new Set([...this, ...other.keys()]);
  },
  difference(other) {
    return new Set([...this].filter((each) => !other.has(each)));
  },
  intersection(other) {
    return new Set([...this].filter((each) => other.has(each)));
  },
};
for (const [name, method] of Object.entries(methods)) Set.prototype[name] ??= method;

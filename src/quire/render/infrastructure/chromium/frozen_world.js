// Runs before any script of a document: one fixed moment, one fixed sequence of random numbers, no second thread
// that would have real ones, no other window.
(() => {
  const moment = 946684800000;
  const RealDate = Date;
  const FrozenDate = new Proxy(RealDate, {
    construct: (target, given, made) => Reflect.construct(target, given.length ? given : [moment], made),
    apply: (target) => new target(moment).toString(),
    get: (target, name) => (name === "now" ? () => moment : Reflect.get(target, name)),
  });
  RealDate.prototype.constructor = FrozenDate;
  globalThis.Date = FrozenDate;

  let state = 0x51a9e;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  Math.random = () => next() / 4294967296;
  const fill = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i++) bytes[i] = next() & 255;
    return array;
  };
  Crypto.prototype.getRandomValues = fill;
  Crypto.prototype.randomUUID = () => {
    const bytes = fill(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };

  Performance.prototype.now = () => 0;
  Object.defineProperty(Performance.prototype, "timeOrigin", { get: () => moment });
  const paint = requestAnimationFrame;
  globalThis.requestAnimationFrame = (call) => paint(() => call(0));
  const format = Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, "format").get;
  Object.defineProperty(Intl.DateTimeFormat.prototype, "format", {
    get() {
      const bound = format.call(this);
      return (date = moment) => bound(date);
    },
  });
  const parts = Intl.DateTimeFormat.prototype.formatToParts;
  Intl.DateTimeFormat.prototype.formatToParts = function (date = moment) {
    return parts.call(this, date);
  };
  if (globalThis.Temporal) delete Temporal.Now;

  for (const name of ["Worker", "SharedWorker", "Worklet"]) delete globalThis[name];
  globalThis.open = () => null;
})();

// Esc closes what was opened last, everywhere: one list of what is open.
//
//   const release = onEscape(close, node)   close() is called by Esc while nothing that opened later is open;
//                                           release() when it was closed in another way; both may be called twice;
//                                           node: what is open, if a view may leave with it
//
// A native <dialog> closes itself, and a field may use Esc for its own text: it calls preventDefault().

const open = [];

export function onEscape(close, node = document.body) {
  const entry = { close, node };
  open.push(entry);
  return () => {
    const at = open.indexOf(entry);
    if (at >= 0) open.splice(at, 1);
  };
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
  if (document.querySelector("dialog:modal")) return;
  while (open.length && !open.at(-1).node.isConnected) open.pop(); // its view was left
  if (!open.length) return;
  event.preventDefault();
  open.pop().close();
});

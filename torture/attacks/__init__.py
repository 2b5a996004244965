"""One module an attack; `torture.registry` lists them."""

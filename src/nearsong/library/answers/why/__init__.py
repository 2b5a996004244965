"""Two songs -> why they are near: the sounds they share, in words, and shared listeners."""

"""Songs -> lists to search, sort and page through; artists and albums."""

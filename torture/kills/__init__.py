"""What is killed: tasks in a process of their own, and servers."""

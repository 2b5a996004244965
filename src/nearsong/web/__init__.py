"""The service: a library as a page in the browser, a JSON API and OpenSubsonic for players."""

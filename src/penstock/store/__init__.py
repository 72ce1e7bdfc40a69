"""What is on disk: catalog, pages, and the graph that reads them."""

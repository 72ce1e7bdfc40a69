def bfs(engine, source): raise NotImplementedError

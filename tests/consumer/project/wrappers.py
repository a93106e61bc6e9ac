# ruff: noqa
from typing import Optional

import flashinfer
from flashinfer import BatchDecodeWithPagedKVCacheWrapper
from flashinfer.comm import TorchDistBackend


class Backend:
    def __init__(self, buffer):
        self.one = BatchDecodeWithPagedKVCacheWrapper(buffer, "NHD")
        self.many = [BatchDecodeWithPagedKVCacheWrapper(buffer) for _ in range(2)]
        self.by_name = {}
        self.by_name["decode"] = BatchDecodeWithPagedKVCacheWrapper(buffer, jit_kwargs={})  # back breaks
        self.group = TorchDistBackend(group=None)

    def plan(self, a):
        self.one.plan(a, a, a, 8, 8, 64, 16, window_left=3)
        self.one.plan(a, a, a, 8, 8, 64, 16, "NONE", 3)
        self.one.plan(a, a, a, 8, 8, 64, 16, "NONE", 3, 0.0, 1)  # forth breaks # back breaks
        self.one.plan(a, a, a, 8, 8, 64, 16, q_len_per_req=2)  # back breaks
        self.one.plan(a, a, a, 8, 8, 64, 16, sliding=3)  # forth breaks # back breaks
        for wrapper in self.many:
            wrapper.run(a, a, kv_block_scales=a)  # forth breaks
        self.many[0].run(a, a, kv_cache_sf=a)  # back breaks
        self.by_name["decode"].run(a, a, 1, 2, q_scale=1.0)
        self.one.forward(a, a)  # forth missing
        self.one.end_forward()  # forth missing # back missing

    def annotated(self, wrapper: Optional[BatchDecodeWithPagedKVCacheWrapper], a):
        wrapper.run(a, a, kv_block_scales=a)  # forth breaks

    def made(self):
        return BatchDecodeWithPagedKVCacheWrapper(None)


class Mine(BatchDecodeWithPagedKVCacheWrapper):
    def run(self, q, cache):
        return super().run(q, cache, kv_block_scales=None)  # forth breaks


def use(a):
    Backend(a).made().run(a, a, kv_block_scales=a)  # forth breaks
    Mine(a).plan(a, a, a, 8, 8, 64, 16, sliding=3)  # forth breaks # back breaks
    flashinfer.BatchDecodeWithPagedKVCacheWrapper(a, "NHD", False, None)  # back breaks

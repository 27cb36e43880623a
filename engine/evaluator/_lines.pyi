from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

PATHS: tuple[str, ...]

def paths() -> tuple[str, ...]: ...

class LineNet:
    path: str
    def __init__(
        self,
        weights: Mapping[str, npt.NDArray[Any] | np.generic],
        pooled: int,
        *,
        path: str | None = None,
        exact: bool = False,
        margin: int = 0,
        closed: bool = False,
    ) -> None: ...
    @property
    def channels(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def margin(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def bits(self) -> int: ...
    def evaluate(
        self,
        planes: npt.NDArray[np.float32],
        policy_out_array: npt.NDArray[np.float32],
        wdl_out_array: npt.NDArray[np.float32],
    ) -> None: ...

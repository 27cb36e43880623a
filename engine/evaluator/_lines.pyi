from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

class LineNet:
    def __init__(
        self,
        weights: Mapping[str, npt.NDArray[Any] | np.generic],
        pooled: int,
        *,
        vectors: bool = True,
        exact: bool = False,
        margin: int = 0,
        wide: bool = True,
    ) -> None: ...
    @property
    def channels(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def vectors(self) -> bool: ...
    @property
    def wide(self) -> bool: ...
    @property
    def margin(self) -> int: ...
    @property
    def bits(self) -> int: ...
    def evaluate(
        self,
        planes: npt.NDArray[np.float32],
        policy_out_array: npt.NDArray[np.float32],
        wdl_out_array: npt.NDArray[np.float32],
    ) -> None: ...

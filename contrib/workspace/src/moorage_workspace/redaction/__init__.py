"""The gate that everything passes on its way to a model: secrets become a mask, host paths become workspace paths."""

from moorage_workspace.redaction.gate import Gate
from moorage_workspace.redaction.mask import MASK, holds_mask
from moorage_workspace.redaction.stream import StreamGate

__all__ = ["MASK", "Gate", "StreamGate", "holds_mask"]

"""The clustered stream of a reasoning model, as a steady flow.

>>> import decluster
>>> lines = [
...     b'data: {"choices":[{"index":0,"delta":{"content":"Hello there."}}]}', b"",
...     b"data: [DONE]", b"",
... ]
>>> for line in decluster.wrap(lines):  # or: decluster.wrap(response.iter_lines())
...     print(line.decode())
data: {"choices":[{"index":0,"delta":{"content":"Hello"}}]}
<BLANKLINE>
data: {"choices":[{"index":0,"delta":{"content":" there."}}]}
<BLANKLINE>
data: [DONE]
<BLANKLINE>

The verbs; `help(decluster.wrap)` and so on say what they take:

- `wrap(source)`: the stream itself, re-cut and paced, in the form that went in;
- `pieces(source)`: its text, piece by piece as it is released;
- `blocks(source)`: its text in whole blocks, for speech and pipelines;
- `collect(source)`: all of it, unpaced, as an `Answer`;
- `usage(body)`: what a finished response cost in tokens.

A `Ledger` adds up what streams and responses cost, by model and key; `Prices` are yours to give.

A source is an iterable of lines, chunks or parsed events, a response of an HTTP client, or an SDK's
stream. Where it is async, so is what comes back: an `AsyncStream` in place of a `Stream`.

`print(*decluster.PARAMETERS, sep="\\n")` lists what else the verbs can be told, `PRESETS` and
`PROFILES` what has a name. For text alone there is `Segmenter`, for a clock of your own `Engine`.
`metrics()` is what all streams of the process add up to, for Prometheus; `Clusters` says how
clustered arrivals of your own are.
The module `decluster.httpx_hooks` paces below SDKs, in their HTTP client.
"""

from ._astream import AsyncStream
from ._core import (
    FINISHED,
    NEED_INPUT,
    PARAMETERS,
    PRESETS,
    PROFILES,
    Block,
    Budget,
    Clusters,
    Engine,
    Event,
    Mark,
    Parameter,
    Piece,
    Preset,
    Segmenter,
    Wait,
    __version__,
    metrics,
)
from ._errors import (
    BodyError,
    CallerError,
    ConfigError,
    DeclusterError,
    Exceeded,
    Finished,
    Full,
    ProviderError,
    ReasoningBudgetExceeded,
    Stalled,
    TooLarge,
    UnknownModel,
)
from ._ledger import Account, Cost, Ledger, LedgerEntry, Price, Prices
from ._published import config_from
from ._stream import Stream
from ._types import Dialect, Framing, Parameters, Verdict
from ._usage import Tokens, Usage, usage
from ._verbs import Answer, blocks, collect, pieces, wrap

__all__ = [
    "FINISHED",
    "NEED_INPUT",
    "PARAMETERS",
    "PRESETS",
    "PROFILES",
    "Account",
    "Answer",
    "AsyncStream",
    "Block",
    "BodyError",
    "Budget",
    "CallerError",
    "Clusters",
    "ConfigError",
    "Cost",
    "DeclusterError",
    "Dialect",
    "Engine",
    "Event",
    "Exceeded",
    "Finished",
    "Framing",
    "Full",
    "Ledger",
    "LedgerEntry",
    "Mark",
    "Parameter",
    "Parameters",
    "Piece",
    "Preset",
    "Price",
    "Prices",
    "ProviderError",
    "ReasoningBudgetExceeded",
    "Segmenter",
    "Stalled",
    "Stream",
    "Tokens",
    "TooLarge",
    "UnknownModel",
    "Usage",
    "Verdict",
    "Wait",
    "__version__",
    "blocks",
    "collect",
    "config_from",
    "metrics",
    "pieces",
    "usage",
    "wrap",
]

"""Recurrences, one per file, and the engine that runs any of them over time.

Takes weights, inputs (B, T, input_size) and a state, gives outputs and the state after them; called
by the layers.
"""

from elman.cells.cell import Cell
from elman.cells.elman_rnn import ElmanRNN
from elman.cells.gru import GRU
from elman.cells.highway import RecurrentHighway
from elman.cells.lstm import LSTM
from elman.cells.lstm_ablations import BiasedLSTM, NoForgetLSTM, NoInputLSTM, NoOutputLSTM
from elman.cells.min_gru import MinGRU
from elman.cells.min_lstm import MinLSTM
from elman.cells.mogrifier import Mogrifier
from elman.cells.mut1 import MUT1
from elman.cells.mut2 import MUT2
from elman.cells.mut3 import MUT3
from elman.cells.nas import NAS
from elman.cells.peephole import Peephole
from elman.cells.torch_gru import TorchGRU

CELLS: dict[str, type[Cell]] = {
    "elman": ElmanRNN,
    "lstm": LSTM,
    "lstm-f": NoForgetLSTM,
    "lstm-i": NoInputLSTM,
    "lstm-o": NoOutputLSTM,
    "lstm-b": BiasedLSTM,
    "peephole": Peephole,
    "mogrifier": Mogrifier,
    "gru": GRU,
    "torch-gru": TorchGRU,
    "mut1": MUT1,
    "mut2": MUT2,
    "mut3": MUT3,
    "highway": RecurrentHighway,
    "nas": NAS,
    "min-gru": MinGRU,
    "min-lstm": MinLSTM,
}

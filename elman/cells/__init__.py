"""Recurrent cells, each with its equations, and the engine that runs any cell over time.

Takes weights, inputs (B, T, input_size) and a state, gives outputs and the new state; called by the
layers.
"""

from elman.registry import Registry

CELLS = Registry(
    "cell",
    {
        "elman": "elman.cells.elman_rnn:ElmanRNN",
        "lstm": "elman.cells.lstm:LSTM",
        "lstm-f": "elman.cells.lstm_variants:NoForgetLSTM",
        "lstm-i": "elman.cells.lstm_variants:NoInputLSTM",
        "lstm-o": "elman.cells.lstm_variants:NoOutputLSTM",
        "lstm-b": "elman.cells.lstm_variants:BiasedLSTM",
        "peephole": "elman.cells.lstm_variants:Peephole",
        "mogrifier": "elman.cells.lstm_variants:Mogrifier",
        "gru": "elman.cells.gru:GRU",
        "torch-gru": "elman.cells.gru:TorchGRU",
        "mut1": "elman.cells.searched:MUT1",
        "mut2": "elman.cells.searched:MUT2",
        "mut3": "elman.cells.searched:MUT3",
        "highway": "elman.cells.highway:RecurrentHighway",
        "nas": "elman.cells.searched:NAS",
        "min-gru": "elman.cells.minimal:MinGRU",
        "min-lstm": "elman.cells.minimal:MinLSTM",
    },
    group="cells",
)

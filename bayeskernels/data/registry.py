"""What is known of the benchmark sets: file checksums, and where OpenML has the same data."""

from dataclasses import dataclass

__all__ = ["CHECKSUMS", "OPENML", "SKLEARN", "OpenMLSource"]

#: Sets that scikit-learn itself contains.
SKLEARN = ("breast_cancer", "digits", "iris", "wine")

#: sha256 of each ``NAME.npz`` of the benchmark folder.
CHECKSUMS = {
    "a9a": "620722709450dc73c38612be73e8c85abe77d4210d3a87408170ba8cc8ffd270",
    "banana": "5e53c0ec7bf1f0e32f73d4c0b8bdd88f8d7b3d2ef2dc4bf73fdda3db29958ab9",
    "bci": "859c92ae002275ffea306b75a6e2396c1806cc002683c751c8d1746a16c45304",
    "boston": "d8015650a6be5bd72f5414e4c70d421335fb4e668a3229b248ff73ecdec6211d",
    "co2_mauna_loa": "afd535aaad4345a3af18bfc14c569d20220f79cd84851d45f4c05faa693e9af1",
    "coil2": "675bcf168381f5997724973ee99bf3e561b122632e57256abe32ecb7d914c9fd",
    "concrete": "bf4270dcba8f89166a76ce84435092e66e53879d3d01c4187138ed02faa93f66",
    "diabetes": "949703861bc9b516a56f5d2fa1057156884268290f11b637828386a68f2c3e85",
    "digit1": "c132adc15813f1615795f574b3cb2933f0324efd3b02f1ebc6b5f0ba0477cf8a",
    "energy": "7a3db04cfb75e16bcdf18254528d7b75f7cff63f4d04c7934f475540a1c910e1",
    "g241d": "3ec12245bc79025d330c7bebf7cc43c8e8a3ce45e7294b39130530315c16d82a",
    "heart": "9e239d948f40907d99ffc52b080a64695d3c4ea60d0d63e317ddc58227376e6a",
    "ionosphere": "0df3402712f1660be70a211b63842d0ff09991d2be444ff80c07e539beb15efd",
    "letter": "27efbff97e938f5233380bb6b15acdfd0f28ff86570249711507ba035d751896",
    "mcycle": "06eb2f04b00439f501077cb6707fad75ff12c0676ce787523586882be140c90d",
    "mnist": "3f3afc116b13285c5f8427d218ddbc50ca998d2c3dbc3f731da26391b0a6a877",
    "mushrooms": "f46fb29a59e4c218081f6035d23be46dc9a2b5c7ef854c5dcaf9d445e4c83bf5",
    "newsgroups_atheism_graphics": (
        "5a06b0c01476d2f2359eccdbc4bd7eac0614126b0d7fcb544cfc395923668a9e"
    ),
    "ringnorm": "350910c4a16c4bfe73484b6b145fd6c91586266193713e7c57ec6ab39dde80ea",
    "sonar": "8b6483390c9aaa1c6cda0dd8c9eb5b4f1ebde0290432c732b62deb6fd2b81231",
    "splice": "e510382632e25a77617652e570bff05bd914a76aeefd2cc7c3e703dc7b530381",
    "svmguide1": "ae9905361705d463dbc90527fa21928289bd46f91bd0d8f2d194c8754c0c0958",
    "thyroid": "351fdc6ab987f5908e38e4cf0bf4d6d6f030f662bd72fffa7b3fc03e524c6c89",
    "twonorm": "6b3202feb6bee66b682834b42b6f73f45e286018b42397240cc3ffe69dc8d859",
    "usps": "07469387a018451e2100e19e0879bb57964050e574c9800159f27a2b240241ab",
    "waveform": "2fc3506299aaf2777612d74214f206502c50333e7478057f95300e2cc5438803",
    "yacht": "e72f4543f4510d2a434922483b60393110c247507d8bfe58a3a90b6f729f2af0",
}


@dataclass(frozen=True)
class OpenMLSource:
    """How to read one of OpenML's data sets.

    Attributes
    ----------
    data_id : int
        OpenML's number of the data set, which fixes its version.
    labels : dict
        From OpenML's class names to the labels that :func:`bayeskernels.data.load` returns.
    content : str
        :func:`bayeskernels.data.openml.content_digest` of the benchmark folder's values.
    standardise : bool
        Bring each column to mean 0 and standard deviation 1 (divisor n - 1), as IDA's files are.
    n_train : int or None
        The first `n_train` rows are the training part, the others the test part.
    """

    data_id: int
    labels: dict
    content: str
    standardise: bool = False
    n_train: int | None = None


#: Sets that OpenML has with the same features. Only those whose number is certain are listed.
OPENML = {
    "diabetes": OpenMLSource(
        37,
        {"tested_positive": 1, "tested_negative": -1},
        "c1dd16af2ce2300271357a13d859ae0071d41f7e77804f60d3813175783501c8",
    ),
    "heart": OpenMLSource(
        53,
        {"present": 1, "absent": -1},
        "8b9ce2d0da0d1665fa67da766a13823043f152dfc424b656c2c7f5c88c82af5a",
        standardise=True,
    ),
    "ionosphere": OpenMLSource(
        59, {"g": 1, "b": -1}, "3184f7b6d3ef13419575329c4f79b97577827daedf0f743d14c544b5b53cd2a2"
    ),
    "letter": OpenMLSource(
        6,
        {letter: number for number, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")},
        "78770e5c970032de5fb06047445eb311121d106581ffd7cac36131f19fb01c3a",
    ),
    "mnist": OpenMLSource(
        554,
        {str(digit): digit for digit in range(10)},
        "79a44b01c2cf9e8b37ee8b73e662747d4dffd45b76b83ba88957f5e5e51ddc29",
        n_train=60_000,
    ),
    "sonar": OpenMLSource(
        40,
        {"Mine": 1, "Rock": -1},
        "4438c0918adecb1a0517f014bfde625e60086685136729200225cbb362b93101",
    ),
}

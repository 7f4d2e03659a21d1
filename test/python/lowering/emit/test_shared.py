"""Parts that both emitters share: identifiers, and comments that name places."""

from bb.lowering.emit.cpp.names import cpp_names
from bb.lowering.emit.cuda.names import cuda_names
from bb.lowering.emit.locations import PlaceComments
from bb.lowering.emit.names import Names


def test_names_are_given_out_once():
    names = Names(["own"])
    assert [names.claim("x"), names.claim("x"), names.claim("own")] == ["x", "x2", "own2"]


def test_a_name_is_free_with_its_suffixes():
    names = Names([])
    assert names.claim("M0") == "M0"
    assert names.claim("M", "0", "n") == "M2"
    assert names.claim("M2n") == "M2n2"


def test_the_emitters_keep_their_own_words():
    assert cpp_names().claim("room") != "room"
    assert cuda_names().claim("row0") != "row0"
    assert cuda_names().claim("room") == "room"


def test_statements_in_a_row_share_a_comment():
    comments = PlaceComments()
    places = ["// at a:1:1", "// at a:1:1", "", "// at a:1:1", "// at a:2:1"]
    assert [comments.before(place) for place in places] == [["// at a:1:1"], [], [], [], ["// at a:2:1"]]

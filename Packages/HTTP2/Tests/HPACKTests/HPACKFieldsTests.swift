import HPACK
import Testing

@Test func newListIsEmpty() {
    #expect(HPACKFields().isEmpty)
    #expect(HPACKFields().droppedCount == 0)
}

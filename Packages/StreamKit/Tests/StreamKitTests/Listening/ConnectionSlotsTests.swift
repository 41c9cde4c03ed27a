import Testing

@testable import StreamKit

@Suite struct ConnectionSlotsTests {
    @Test func countsAndPassesOn() async {
        let slots = ConnectionSlots(2)
        #expect(await slots.take())
        #expect(await slots.take())
        #expect(slots.taken == 2)
        let third = Task { await slots.take() }
        slots.release()
        #expect(await third.value)
        #expect(slots.taken == 2)
        slots.release()
        slots.release()
        #expect(slots.taken == 0)
    }

    @Test func closingEndsTheWait() async {
        let slots = ConnectionSlots(0)
        #expect(await slots.take())
        let second = Task { await slots.take() }
        slots.close()
        #expect(await second.value == false)
        #expect(await slots.take() == false)
        slots.release()
        #expect(await slots.take() == false)
    }
}

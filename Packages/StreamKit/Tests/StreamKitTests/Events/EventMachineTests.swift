import EventLoops
import Testing

@testable import StreamKit

@Suite struct EventMachineTests {
    /// The observed facts, the client's preceding action, and the events that must follow, in order.
    struct Step: Sendable {
        var facts: EventMachine.Facts
        var transfers = false
        var events: [StreamEvent]

        static func open(
            _ readiness: EventMachine.Facts.Readiness, after transfers: Bool = false, _ events: StreamEvent...
        ) -> Step {
            Step(
                facts: .init(hasOpened: true, hasFailed: false, readiness: readiness), transfers: transfers,
                events: events)
        }

        static func failed(opened: Bool, _ events: StreamEvent...) -> Step {
            Step(facts: .init(hasOpened: opened, hasFailed: true, readiness: .notYet), events: events)
        }

        static let opening = Step(
            facts: .init(hasOpened: false, hasFailed: false, readiness: .notYet), events: [])
    }

    static let lives: [(String, [Step])] = [
        ("nothing before open", [.opening, .opening]),
        ("open-completed comes once and first", [.opening, .open(.notYet, .openCompleted), .open(.notYet)]),
        ("pending events come in ascending order", [.open(.ready, .openCompleted, .hasBytesAvailable)]),
        (
            "bytes are reported once per read",
            [
                .open(.ready, .openCompleted, .hasBytesAvailable), .open(.ready), .open(.ready),
                .open(.ready, after: true, .hasBytesAvailable), .open(.notYet, after: true),
                .open(.ready, .hasBytesAvailable),
            ]
        ),
        (
            "the end comes once, then only an error",
            [
                .open(.ended, .openCompleted, .endEncountered), .open(.ended), .open(.ended, after: true),
                .failed(opened: true, .errorOccurred), .failed(opened: true),
            ]
        ),
        (
            "an error does not wait for a read",
            [.open(.ready, .openCompleted, .hasBytesAvailable), .failed(opened: true, .errorOccurred)]
        ),
        ("a failed opening is an error alone", [.opening, .failed(opened: false, .errorOccurred)]),
        (
            "opened and failed before the first look",
            [.failed(opened: true, .openCompleted, .errorOccurred), .failed(opened: true)]
        ),
        ("nothing follows an error", [.failed(opened: false, .errorOccurred), .open(.ready, after: true)]),
    ]

    // Parity: SK-077
    @Test("SK-077: delivery", arguments: lives)
    func deliversDueEvents(_ name: String, _ steps: [Step]) {
        var machine = EventMachine(half: .reader, wanted: .all)
        for (index, step) in steps.enumerated() {
            if step.transfers { machine.didTransfer() }
            var delivered: [StreamEvent] = []
            while let event = machine.next(step.facts) { delivered.append(event) }
            #expect(delivered == step.events, "\(name), step \(index)")
        }
    }

    // Parity: SK-070, SK-081
    @Test("SK-070: the mask; SK-081: a ready writer reports room")
    func deliversOnlyRequestedEvents() {
        let ready = EventMachine.Facts(hasOpened: true, hasFailed: false, readiness: .ready)
        let ended = EventMachine.Facts(hasOpened: true, hasFailed: false, readiness: .ended)
        var writer = EventMachine(half: .writer, wanted: [.canAcceptBytes])
        #expect(writer.next(ready) == .canAcceptBytes)
        #expect(writer.isSettled)
        var silent = EventMachine(half: .reader, wanted: [.endEncountered])
        #expect(silent.next(ready) == nil)
        #expect(!silent.isSettled)
        #expect(silent.next(ended) == .endEncountered)
        var deaf = EventMachine(half: .reader, wanted: [.openCompleted])
        #expect(deaf.next(ended) == .openCompleted)
        #expect(deaf.next(ended) == nil)
    }

    // Parity: SK-070
    @Test("SK-070: CFNetwork's bits")
    func eventNumbers() {
        #expect(StreamEvent.allCases.map(\.rawValue) == [1, 2, 4, 8, 16])
        #expect(StreamEvents.all == StreamEvents(StreamEvent.allCases.map(StreamEvents.init)))
    }
}

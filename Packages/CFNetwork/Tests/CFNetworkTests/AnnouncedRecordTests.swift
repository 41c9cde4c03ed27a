import Testing

@testable import CFNetworkEngine

/// The record that a registration announces, in each order in which threads can set it. Records are single letters.
struct AnnouncedRecordTests {
    enum Event: Sendable {
        case begin, end
        case set(String)
        case updated(String)
        case refused(String)
        /// The result of an update of the registration before the latest one.
        case lateUpdated(String)
        case lateRefused(String)
        /// The update has found that the registration before the latest one has ended.
        case lateEnd
    }

    @Test(
        arguments: [
            // Set before the registration, which begins with it.
            ([.set("a"), .begin, .updated("a")], ["-", "a", "-"], "a"),
            // Set while the registration begins.
            (
                [.set("a"), .begin, .set("b"), .updated("a"), .updated("b")], ["-", "a", "-", "update b", "-"], "b"
            ),
            // Set afterwards, and the same again.
            ([.begin, .updated(""), .set("b"), .updated("b"), .set("b")], ["", "-", "update b", "-", "-"], "b"),
            // A second thread sets the record during the update of the first one.
            (
                [.begin, .updated(""), .set("b"), .set("c"), .updated("b"), .updated("c")],
                ["", "-", "update b", "-", "update c", "-"], "c"
            ),
            // … and sets the record that is announced.
            (
                [.set("a"), .begin, .updated("a"), .set("b"), .set("a"), .updated("b"), .updated("a")],
                ["-", "a", "-", "update b", "-", "update a", "-"], "a"
            ),
            // A refused record gives way to the previous one.
            ([.set("a"), .begin, .updated("a"), .set("b"), .refused("b")], ["-", "a", "-", "update b", "-"], "a"),
            // … but not if another was set meanwhile.
            (
                [.set("a"), .begin, .updated("a"), .set("b"), .set("c"), .refused("b"), .updated("c")],
                ["-", "a", "-", "update b", "-", "update c", "-"], "c"
            ),
            // A thread that ends an update of an earlier registration changes nothing.
            (
                [.begin, .updated(""), .set("b"), .end, .set("c"), .begin, .lateUpdated("b"), .updated("c")],
                ["", "-", "update b", "", "-", "c", "-", "-"], "c"
            ),
            // … also if the next one begins with the same record: what is set meanwhile is announced by it.
            (
                [
                    .begin, .updated(""), .set("b"), .end, .begin, .lateUpdated("b"), .set("c"), .updated("b"),
                    .updated("c"),
                ], ["", "-", "update b", "", "b", "-", "-", "update c", "-"], "c"
            ),
            (
                [
                    .begin, .updated(""), .set("b"), .end, .begin, .lateRefused("b"), .set("c"), .updated("b"),
                    .updated("c"),
                ], ["", "-", "update b", "", "b", "-", "-", "update c", "-"], "c"
            ),
            // … or finds only then that the earlier one has ended.
            (
                [.begin, .updated(""), .set("b"), .end, .begin, .lateEnd, .updated("b"), .set("c"), .updated("c")],
                ["", "-", "update b", "", "b", "", "-", "update c", "-"], "c"
            ),
            // The registration has failed.
            ([.begin, .set("b"), .end, .set("c")], ["", "-", "", "-"], "c"),
        ] as [([Event], [String], String)])
    func theRecordThatWasSetLastIsAnnounced(_ events: [Event], _ steps: [String], _ value: String) {
        var record = AnnouncedRecord()
        var registrations: [AnnouncedRecord.Registration] = []
        let found = events.map { event -> String in
            switch event {
            case .begin:
                let (registration, first) = record.begin()
                registrations.append(registration)
                return text(first)
            case .end:
                record.end()
                return ""
            case .set(let letter): return text(record.set(Array(letter.utf8)))
            case .updated(let letter): return text(record.updated(registrations.last!, to: bytes(letter)))
            case .refused(let letter): return text(record.refused(bytes(letter), by: registrations.last!))
            case .lateUpdated(let letter):
                return text(record.updated(registrations.dropLast().last!, to: bytes(letter)))
            case .lateRefused(let letter):
                return text(record.refused(bytes(letter), by: registrations.dropLast().last!))
            case .lateEnd:
                record.end(registrations.dropLast().last!)
                return ""
            }
        }
        #expect(found == steps)
        #expect(text(record.value) == value)
    }

    private func bytes(_ text: String) -> [UInt8]? { text.isEmpty ? nil : Array(text.utf8) }

    private func text(_ record: [UInt8]?) -> String { String(decoding: record ?? [], as: UTF8.self) }

    private func text(_ step: AnnouncedRecord.Step) -> String {
        switch step {
        case .update(let record, _): "update \(text(record))"
        case .current: "-"
        }
    }
}

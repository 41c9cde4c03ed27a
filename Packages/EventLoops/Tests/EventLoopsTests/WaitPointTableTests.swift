import CoreFoundation
import Foundation
import Synchronization
import Testing

@_spi(Packages) @testable import EventLoops

extension EventLoopsTests {
    /// The tables in the comments of `PointState`, `Waiter` and `DescriptorWatch` are true: each cell is visited.
    @Suite struct WaitPointTableTests {
        /// A table in the comment at the top of a source file.
        private struct Table {
            struct Cell {
                let state: String
                let event: String
                let text: String
            }

            private(set) var cells: [Cell] = []
            private(set) var states: [String] = []
            private(set) var events: [String] = []

            /// - Parameter name: the first word of the header.
            init(_ name: String, of type: String) throws {
                let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                    .appendingPathComponent("../../Sources/EventLoops/\(type).swift")
                let mark = "///     "
                let lines = try String(contentsOf: sources, encoding: .utf8).split(separator: "\n")
                let rows = lines.filter { $0.hasPrefix(mark) && $0.contains("|") }
                    .map {
                        $0.dropFirst(mark.count).split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
                    }
                let start = try #require(rows.firstIndex { $0[0] == name }, "\(type) has no table \(name)")
                events = Array(rows[start].dropFirst())
                for row in rows[(start + 1)...].prefix(while: { $0.count == rows[start].count }) {
                    states.append(row[0])
                    for (event, text) in zip(events, row.dropFirst()) {
                        cells.append(Cell(state: row[0], event: event, text: text))
                    }
                }
            }

            /// Visits each cell that is not empty. The number of states and events must be known, so that no row can be lost.
            func visit(states: Int, events: Int, _ outcome: (Cell) throws -> String) rethrows {
                #expect(self.states.count == states && Set(self.states).count == states)
                #expect(self.events.count == events && cells.count == states * events)
                for cell in cells where cell.text != "-" || self.states.contains("-") {
                    let found = try outcome(cell)
                    #expect(found == cell.text, "\(cell.state), \(cell.event)")
                }
            }
        }

        // MARK: - The slot

        private static let interests: [String: Interest] = [
            "r": .readable, "w": .writable, "rw": [.readable, .writable],
        ]

        /// A slot in one of its states, with its watcher.
        private final class Slot: Sendable {
            let waiter = Waiter()
            let watcher = CountingWatcher()

            init(_ state: String) {
                if state.hasPrefix("P:") {
                    _ = waiter.park(watcher, for: interests[String(state.dropFirst(2))] ?? [])
                } else {
                    let edges = state.replacing("d", with: "").replacing("-", with: "")
                    if let interest = interests[edges] { waiter.signal(interest) }
                    if state.contains("d") { waiter.noteDrained() }
                }
            }

            /// Performs an event; returns what the caller or the watcher learns from it.
            func perform(_ event: String) -> String {
                let words = event.split(separator: " ").map(String.init)
                let interest = interests[words.last ?? ""] ?? []
                let fired = watcher.count
                switch words[0] {
                case "signal": waiter.signal(interest)
                case "park":
                    switch waiter.park(watcher, for: interest) {
                    case .parked: break
                    case .ready: return "!"
                    case .busy: return "busy"
                    }
                case "unpark": waiter.unpark(watcher)
                case "drain": waiter.noteDrained()
                case "withdraw": waiter.withdraw(interest)
                default: return "unknown event"
                }
                return watcher.count > fired ? "*" : ""
            }

            /// The state; a waiter waits for those edges that fire it, which `probe` tries.
            func state(probe: Interest) -> String {
                if waiter.isParked {
                    let fired = watcher.count
                    waiter.signal(probe)
                    return watcher.count > fired ? (probe == .readable ? "r" : "w") : ""
                }
                let edges = (waiter.hasRoom(for: .readable) ? "" : "r") + (waiter.hasRoom(for: .writable) ? "" : "w")
                return (waiter.isDrained ? "d" : "") + edges
            }
        }

        @Test func eachStateOfASlotMeetsEachEvent() throws {
            try Table("slot", of: "Waiter").visit(states: 9, events: 10) { cell in
                // Twice, since the interest of a waiter is found by firing it.
                let slots = [Slot(cell.state), Slot(cell.state)]
                let effects = slots.map { $0.perform(cell.event) }
                #expect(effects[0] == effects[1])
                let isParked = slots[0].waiter.isParked
                let probes = [slots[0].state(probe: .readable), slots[1].state(probe: .writable)]
                let state = isParked ? "P:" + probes.joined() : probes[0].isEmpty ? "-" : probes[0]
                if effects[0] == "busy" {
                    #expect(state == cell.state)
                    return "busy"
                }
                return state + effects[0]
            }
        }

        // MARK: - One half

        /// Brings a half into a state by the shortest way.
        private func bring(_ half: WaitPoint.Half, of point: WaitPoint, to state: String) {
            if state == "inside" || state == "closing" { #expect(point.enter(half) == .entered) }
            if state == "closing" || state == "closed" { point.close(half) }
        }

        private func state(_ half: WaitPoint.Half, of point: WaitPoint) -> String {
            switch (point.isInside(half), point.isClosed(half)) {
            case (false, false): "free"
            case (true, false): "inside"
            case (true, true): "closing"
            case (false, true): "closed"
            }
        }

        /// Parks a call and an observer, after the edges that are latched. Closing has latched one.
        private func parkedWatchers(at half: WaitPoint.Half, of point: WaitPoint) -> [CountingWatcher] {
            let watchers = [CountingWatcher(), CountingWatcher()]
            while point.sides[half].call.park(watchers[0], for: .readable) == .ready {}
            while point.sides[half].observer.park(watchers[1], for: .readable) == .ready {}
            return watchers
        }

        @Test(arguments: WaitPoint.Half.allCases)
        func eachStateOfAHalfMeetsEachEvent(_ half: WaitPoint.Half) throws {
            let table = try Table("half", of: "PointState")
            for other in table.states {
                table.visit(states: 4, events: 3) { cell in
                    let point = WaitPoint()
                    bring(half, of: point, to: cell.state)
                    bring(half.other, of: point, to: other)
                    let watchers = parkedWatchers(at: half, of: point)
                    let others = parkedWatchers(at: half.other, of: point)
                    var result: [String] = []
                    switch cell.event {
                    case "enter": result = ["\(point.enter(half))"]
                    case "leave": point.leave(half)
                    case "close": point.close(half)
                    default: Issue.record("unknown event \(cell.event)")
                    }
                    if watchers.map(\.count) == [1, 1] { result.append("wakes") }
                    #expect(Set(watchers.map(\.count)).count == 1, "the call and the observer learn the same")
                    #expect(others.map(\.count) == [0, 0] && state(half.other, of: point) == other)
                    return ([state(half, of: point)] + result).joined(separator: ", ")
                }
            }
        }

        // MARK: - The point as a whole

        /// A socket, and whether its number still means it.
        private final class Near {
            let pair: SocketPair
            private let socket: String?

            init() throws {
                pair = try SocketPair()
                socket = Near.socket(pair.near)
            }

            var isOpen: Bool { socket != nil && Near.socket(pair.near) == socket }

            /// Whether the far side has seen the end.
            var hasEnded: Bool {
                var byte: UInt8 = 0
                return recv(pair.far, &byte, 1, CInt(MSG_DONTWAIT)) == 0
            }

            /// The socket of a descriptor, such as `socket:[42]`.
            private static func socket(_ descriptor: CInt) -> String? {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            }
        }

        private func state(of point: WaitPoint) -> String {
            let bits = point.state.bits
            if bits & PointState.Bits.finished != 0 { return "finished" }
            if bits & PointState.Bits.users != 0 {
                return point.isClosed(.reader) && point.isClosed(.writer) ? "ending" : "used"
            }
            return bits & PointState.Bits.attached == 0 ? "empty" : "attached"
        }

        @Test func eachStateOfAPointMeetsEachEvent() throws {
            try Table("point", of: "PointState").visit(states: 5, events: 4) { cell in
                let (near, further) = (try Near(), try Near())
                let point =
                    cell.state == "empty" ? WaitPoint() : WaitPoint(descriptor: near.pair.near, ownership: .owned)
                if cell.state == "used" || cell.state == "ending" { #expect(point.enter(.writer) == .entered) }
                if cell.state == "ending" || cell.state == "finished" { point.close() }
                #expect(state(of: point) == cell.state)
                let wasEnded = near.hasEnded
                let watcher = parkedWatchers(at: .reader, of: point)[0]
                var result: [String] = []
                switch cell.event {
                case "attach": point.attach(further.pair.near, ownership: .owned)
                case "use": result = [point.whileOpen { true } == nil ? "refused" : "granted"]
                case "close both": point.close()
                case "last": point.leave(.writer)
                default: Issue.record("unknown event \(cell.event)")
                }
                let isClosing = ["finished", "ending"].contains(state(of: point))
                if cell.event == "attach", watcher.count == 1 { result.append("signals") }
                if cell.event == "attach", isClosing, !further.isOpen { result.append("closes") }
                if cell.event != "attach", cell.state != "finished", !near.isOpen { result.append("closes") }
                if near.isOpen, near.hasEnded, !wasEnded { result.append("shuts") }
                let found = ([state(of: point)] + result).joined(separator: ", ")
                if cell.event == "attach", !isClosing {
                    #expect(further.isOpen && point.descriptor == further.pair.near)
                }
                if further.isOpen, point.descriptor != further.pair.near { close(further.pair.near) }
                if near.isOpen, cell.state == "empty" { close(near.pair.near) }
                if cell.state == "ending", cell.event != "last" { point.leave(.writer) }
                if cell.state == "used", cell.event != "last" { point.leave(.writer) }
                point.close()
                return found
            }
        }

        // MARK: - Watching

        private struct Pollers {
            let own: DescriptorPoller
            let other: DescriptorPoller

            init() throws {
                own = try #require(DescriptorPoller())
                other = try #require(DescriptorPoller())
            }
        }

        private func observe(_ point: WaitPoint, _ half: WaitPoint.Half, by poller: DescriptorPoller?)
            -> CountingWatcher
        {
            let watcher = CountingWatcher()
            _ = point.watch(half, for: .readable, with: watcher, by: poller)
            return watcher
        }

        private func bring(_ point: WaitPoint, to state: String, _ pollers: Pollers) {
            switch state {
            case "loop", "ready": _ = point.beginWait(.reader, until: nil)
            case "poller", "kept":
                point.unwatch(.reader, observe(point, .reader, by: pollers.own))
                if state == "kept" { _ = point.beginWait(.reader, until: nil) }
            default: break
            }
        }

        private func state(watching point: WaitPoint, _ pollers: Pollers) -> String {
            if point.watching.isUnwatched { return "none" }
            if point.watching.isDone(by: pollers.own) { return "poller" }
            if point.watching.isDone(by: pollers.other) { return "other" }
            if point.watching.numberInLoop == nil { return "ready" }
            return point.state.bits & PointState.Bits.reclaimed == 0 ? "loop" : "kept"
        }

        @Test func eachWatchMeetsEachEvent() throws {
            let loop = EventLoop.forTest("watches")
            defer { loop.shutdown() }
            try Table("watch", of: "DescriptorWatch").visit(states: 5, events: 6) { cell in
                // Without and with an observer on the other half, which waits wherever the descriptor is watched already.
                let outcomes = try [false, true].map { isWaitedAt in
                    let pollers = try Pollers()
                    let pair = try SocketPair()
                    let descriptor = cell.state == "ready" ? open("/dev/null", O_RDWR) : pair.near
                    let point = WaitPoint(descriptor: descriptor, ownership: .owned, loop: loop)
                    defer { point.close() }
                    bring(point, to: cell.state, pollers)
                    #expect(state(watching: point, pollers) == cell.state)
                    if isWaitedAt, cell.state != "none" {
                        _ = observe(point, .writer, by: cell.state == "poller" ? pollers.own : nil)
                        #expect(state(watching: point, pollers) == cell.state)
                    }
                    switch cell.event {
                    case "call waits": _ = point.beginWait(.reader, until: nil)
                    case "observer waits": _ = observe(point, .reader, by: nil)
                    case "by poller": _ = observe(point, .reader, by: pollers.own)
                    case "by other": _ = observe(point, .reader, by: pollers.other)
                    case "ends polling": point.endPolling()
                    case "close": point.close()
                    default: Issue.record("unknown event \(cell.event)")
                    }
                    return state(watching: point, pollers)
                }
                return outcomes[0] == outcomes[1] ? outcomes[0] : outcomes.joined(separator: " / ")
            }
        }
    }
}

import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct WideAreaMachineTests {
    private var machine = WideAreaMachine()
    private var now = DiscoveryTime.now
    private let key = RecordKey(DNSName("_http._tcp.example.org")!, .ptr)

    /// What it says until it says to wait, as texts, with its lookups' numbers and the time to wait.
    private struct Said {
        var lookups: [Int] = []
        var cancelled: [Int] = []
        var events: [String] = []
        var wait: Duration?
    }

    private mutating func run() -> Said {
        var said = Said()
        while true {
            switch machine.next(now: now) {
            case .lookUp(let number, _): said.lookups.append(number)
            case .cancel(let number): said.cancelled.append(number)
            case .report(let operation, let event):
                switch event {
                case .added(let record, 0): said.events.append("\(operation) + \(Self.label(record))")
                case .removed(let record, 0): said.events.append("\(operation) - \(Self.label(record))")
                case .absent(0): said.events.append("\(operation) absent")
                case .failed(let error): said.events.append("\(operation) \(error.code.rawValue)")
                default: said.events.append("\(event)")
                }
            case .wait(let moment):
                said.wait = moment.map { now.duration(to: $0) }
                return said
            }
        }
    }

    private static func label(_ record: DNSRecord) -> String {
        guard case .ptr(let name) = record.data else { return "?" }
        return String(decoding: name.labels[0], as: UTF8.self)
    }

    private func answer(_ names: String..., lifetime: UInt32 = 300) -> Result<DNSAnswer, ResolverError> {
        let records = names.map { name in
            DNSRecord(key.name, timeToLive: lifetime, .ptr(DNSName("\(name)._http._tcp.example.org")!))
        }
        return .success(DNSAnswer(records: records, canonicalName: key.name, timeToLive: lifetime))
    }

    @Test mutating func tellsWhatHasChanged() throws {
        let id = try machine.ask(key, now: now)
        #expect(id == -1)
        var said = run()
        #expect(said.lookups == [1] && said.events.isEmpty && said.wait == nil)
        machine.receive(answer("A", "B"), of: 1, now: now)
        said = run()
        #expect(said.events == ["-1 + A", "-1 + B"] && said.wait == .seconds(300))
        now += .seconds(299)
        #expect(run().lookups.isEmpty)
        now += .seconds(1)
        #expect(run().lookups == [2])
        machine.receive(answer("B", "C"), of: 2, now: now)
        #expect(run().events == ["-1 + C", "-1 - A"])
        now += .seconds(300)
        #expect(run().lookups == [3])
        machine.receive(.failure(ResolverError(.noData)), of: 3, now: now)
        said = run()
        #expect(said.events == ["-1 absent", "-1 - B", "-1 - C"] && said.wait == WideAreaRules.absenceInterval)
    }

    @Test(arguments: [(UInt32(0), 10), (3, 10), (60, 60), (86_400, 3600), (.max, 3600)]) mutating func asksAgain(
        _ lifetime: UInt32, _ seconds: Int
    ) throws {
        _ = try machine.ask(key, now: now)
        _ = run()
        machine.receive(answer("A", lifetime: lifetime), of: 1, now: now)
        #expect(run().wait == .seconds(seconds))
    }

    @Test mutating func asksOnceForAll() throws {
        _ = try machine.ask(key, now: now)
        _ = try machine.ask(key, now: now)
        #expect(run().lookups == [1])
        machine.receive(answer("A"), of: 1, now: now)
        #expect(run().events == ["-1 + A", "-2 + A"])
        // Who comes later is told at once what is known.
        _ = try machine.ask(key, now: now)
        var said = run()
        #expect(said.events == ["-3 + A"] && said.lookups.isEmpty)
        machine.end(-1)
        machine.end(-2)
        now += .seconds(300)
        #expect(run().lookups == [2])
        machine.end(-3)
        said = run()
        #expect(said.cancelled == [2] && said.wait == nil && !machine.awaits(2))
        // Its answer comes nevertheless.
        machine.receive(answer("A"), of: 2, now: now)
        #expect(run().events.isEmpty)
    }

    @Test mutating func failsIfNobodyCanBeAsked() throws {
        _ = try machine.ask(key, now: now)
        _ = run()
        machine.receive(.failure(ResolverError(.serverFailed)), of: 1, now: now)
        let said = run()
        #expect(said.events == ["-1 lookupFailed"] && said.wait == nil)
        machine.end(-1)
    }

    @Test mutating func findsNoServiceThatItsNameServerDoesNotKnow() throws {
        let name = DNSName("Web._http._tcp.example.org")!
        _ = try machine.ask(RecordKey(name, .srv), now: now)
        _ = run()
        machine.receive(.failure(ResolverError(.hostNotFound)), of: 1, now: now)
        #expect(run().events == ["-1 notFound"])
    }

    @Test mutating func keepsWhatIsKnownWhenNobodyCanBeAskedAnyMore() throws {
        _ = try machine.ask(key, now: now)
        _ = run()
        machine.receive(answer("A"), of: 1, now: now)
        var wait = try #require(run().wait)
        for (number, pause) in [10, 20, 40, 80, 160, 300, 300].enumerated() {
            now += wait
            #expect(run().lookups == [number + 2])
            machine.receive(.failure(ResolverError(.timedOut)), of: number + 2, now: now)
            let said = run()
            #expect(said.events.isEmpty && said.wait == .seconds(pause))
            wait = try #require(said.wait)
        }
        now += wait
        _ = run()
        machine.receive(answer("B"), of: 9, now: now)
        #expect(run().events == ["-1 + B", "-1 - A"])
    }

    @Test mutating func asksAtOnceWhatIsDoubted() throws {
        machine.reconfirm(key, now: now)
        #expect(run().lookups.isEmpty)
        _ = try machine.ask(key, now: now)
        _ = run()
        machine.receive(answer("A"), of: 1, now: now)
        _ = run()
        machine.reconfirm(key, now: now)
        machine.reconfirm(key, now: now)
        #expect(run().lookups == [2])
        machine.receive(.failure(ResolverError(.hostNotFound)), of: 2, now: now)
        #expect(run().events == ["-1 absent", "-1 - A"])
    }

    @Test mutating func asksNotTooManyThingsAtOnce() throws {
        for number in 0..<100 {
            _ = try machine.ask(RecordKey(try #require(DNSName("h\(number).example.org")), .a), now: now)
        }
        var said = run()
        #expect(said.lookups == Array(1...WideAreaRules.mostLookups) && said.wait == nil)
        for number in 1...100 {
            machine.receive(.failure(ResolverError(.noData)), of: number, now: now)
            _ = run()
        }
        said = run()
        #expect(said.lookups.isEmpty && said.wait == WideAreaRules.absenceInterval)
    }

    @Test func limitsQuestions() throws {
        var machine = WideAreaMachine(limit: 1)
        _ = try machine.ask(key, now: now)
        _ = try machine.ask(key, now: now)
        let other = RecordKey(DNSName.root, .ptr)
        #expect(throws: ServiceDiscoveryError(.tooMuch, detail: "1 questions")) { _ = try machine.ask(other, now: now) }
    }
}

import DNSWire
@_spi(Packages) import HostResolver
import Testing

@testable import ServiceDiscovery

@Suite struct WideAreaMachineTests {
    private var machine = WideAreaMachine()
    private var now = DiscoveryTime.now
    private let key = RecordKey(DNSName("_http._tcp.example.org")!, .ptr)

    /// The actions until the machine waits: lookups, cancellations and events, and the time to wait.
    private struct Output {
        var lookups: [Int] = []
        var cancelled: [Int] = []
        var events: [String] = []
        var wait: Duration?
    }

    private mutating func run() -> Output {
        var output = Output()
        while true {
            switch machine.next(now: now) {
            case .lookUp(let number, _): output.lookups.append(number)
            case .cancel(let number): output.cancelled.append(number)
            case .report(let operation, let event):
                switch event {
                case .added(let record, 0, nil): output.events.append("\(operation) + \(Self.label(record))")
                case .removed(let record, 0): output.events.append("\(operation) - \(Self.label(record))")
                case .absent(0): output.events.append("\(operation) absent")
                case .unanswered(let error): output.events.append("\(operation) \(error.code.rawValue)")
                default: output.events.append("\(event)")
                }
            case .wait(let time):
                output.wait = time.map { now.duration(to: $0) }
                return output
            }
        }
    }

    private static func label(_ record: DNSRecord) -> String {
        guard case .ptr(let name) = record.data else { return "?" }
        return String(decoding: name.labels[0], as: UTF8.self)
    }

    private func answer(
        _ names: String..., lifetime: UInt32 = 300, isTruncated: Bool = false
    ) -> Result<DNSAnswer, ResolverError> {
        answer(names, lifetime: lifetime, isTruncated: isTruncated)
    }

    private func answer(
        _ names: [String], lifetime: UInt32 = 300, isTruncated: Bool
    ) -> Result<DNSAnswer, ResolverError> {
        let records = names.map { name in
            DNSRecord(key.name, timeToLive: lifetime, .ptr(DNSName("\(name)._http._tcp.example.org")!))
        }
        return .success(
            DNSAnswer(records: records, canonicalName: key.name, timeToLive: lifetime, isTruncated: isTruncated))
    }

    @Test mutating func reportsChanges() throws {
        try machine.query(key, as: 1, now: now)
        var output = run()
        #expect(output.lookups == [1] && output.events.isEmpty && output.wait == nil)
        machine.receive(answer("A", "B"), of: 1, now: now)
        output = run()
        #expect(output.events == ["1 + A", "1 + B"] && output.wait == .seconds(300))
        now += .seconds(299)
        #expect(run().lookups.isEmpty)
        now += .seconds(1)
        #expect(run().lookups == [2])
        machine.receive(answer("B", "C"), of: 2, now: now)
        #expect(run().events == ["1 + C", "1 - A"])
        now += .seconds(300)
        #expect(run().lookups == [3])
        machine.receive(.failure(ResolverError(.noData)), of: 3, now: now)
        output = run()
        #expect(output.events == ["1 absent", "1 - B", "1 - C"] && output.wait == WideAreaRules.absenceInterval)
    }

    @Test(arguments: [(UInt32(0), 10), (3, 10), (60, 60), (86_400, 3600), (.max, 3600)]) mutating func repeatsLookups(
        _ lifetime: UInt32, _ seconds: Int
    ) throws {
        try machine.query(key, as: 1, now: now)
        _ = run()
        machine.receive(answer("A", lifetime: lifetime), of: 1, now: now)
        #expect(run().wait == .seconds(seconds))
    }

    @Test mutating func sharesLookups() throws {
        try machine.query(key, as: 1, now: now)
        try machine.query(key, as: 2, now: now)
        #expect(run().lookups == [1])
        machine.receive(answer("A"), of: 1, now: now)
        #expect(run().events == ["1 + A", "2 + A"])
        // A later query gets the known records at once.
        try machine.query(key, as: 3, now: now)
        var output = run()
        #expect(output.events == ["3 + A"] && output.lookups.isEmpty)
        machine.end(1)
        machine.end(2)
        now += .seconds(300)
        #expect(run().lookups == [2])
        machine.end(3)
        output = run()
        #expect(output.cancelled == [2] && output.wait == nil && !machine.awaits(2))
        // The answer to a cancelled lookup is ignored.
        machine.receive(answer("A"), of: 2, now: now)
        #expect(run().events.isEmpty)
    }

    /// A question that has no answer yet is asked again, and each failure is reported: some searches end then.
    @Test mutating func asksAgainAfterFailures() throws {
        try machine.query(key, as: 1, now: now)
        for (number, pause) in [10, 20, 40].enumerated() {
            #expect(run().lookups == [number + 1] && machine.isFailing == (number > 0))
            machine.receive(.failure(ResolverError(.serverFailed)), of: number + 1, now: now)
            let output = run()
            #expect(output.events == ["1 lookupFailed"] && output.wait == .seconds(pause))
            now += .seconds(pause)
        }
        #expect(run().lookups == [4])
        machine.receive(answer("A"), of: 4, now: now)
        #expect(run().events == ["1 + A"] && !machine.isFailing)
    }

    /// An operation that begins while a question fails does not wait for the next attempt of the others.
    @Test mutating func asksAtOnceForANewOperation() throws {
        try machine.query(key, as: 1, now: now)
        _ = run()
        machine.receive(.failure(ResolverError(.serverFailed)), of: 1, now: now)
        #expect(run().wait == .seconds(10))
        try machine.query(key, as: 2, now: now)
        #expect(run().lookups == [2])
        try machine.query(key, as: 3, now: now)
        #expect(run().lookups == [])
        machine.receive(.failure(ResolverError(.serverFailed)), of: 2, now: now)
        let output = run()
        #expect(output.events == ["1 lookupFailed", "2 lookupFailed", "3 lookupFailed"] && output.wait == .seconds(20))
    }

    /// When the network has come back, name servers are asked at once, but not more often than once per second. The failure of a lookup
    /// that began before means little.
    @Test mutating func asksAgainAfterAChangeOfTheNetwork() throws {
        try machine.query(key, as: 1, now: now)
        machine.networkChanged(now: now)
        #expect(run().lookups == [1])
        machine.networkChanged(now: now)
        machine.receive(.failure(ResolverError(.timedOut)), of: 1, now: now)
        #expect(run().wait == .seconds(1))
        now += .seconds(1)
        #expect(run().lookups == [2])
        machine.receive(.failure(ResolverError(.timedOut)), of: 2, now: now)
        #expect(run().wait == .seconds(20))
        now += .seconds(5)
        machine.networkChanged(now: now)
        #expect(run().lookups == [3])
        machine.receive(answer("A"), of: 3, now: now)
        #expect(run().events == ["1 + A"])
        // What has an answer is not asked again.
        machine.networkChanged(now: now)
        let output = run()
        #expect(output.lookups.isEmpty && output.wait == .seconds(300))
    }

    @Test mutating func reportsUnknownServices() throws {
        let name = DNSName("Web._http._tcp.example.org")!
        try machine.query(RecordKey(name, .srv), as: 1, now: now)
        _ = run()
        machine.receive(.failure(ResolverError(.hostNotFound)), of: 1, now: now)
        let output = run()
        #expect(output.events == ["1 notFound"] && output.wait == WideAreaRules.absenceInterval)
        try machine.query(RecordKey(name, .srv), as: 2, now: now)
        #expect(run().events == ["2 notFound"])
        // It may exist later.
        now += WideAreaRules.absenceInterval
        #expect(run().lookups == [2])
        let location = DNSRecord(name, timeToLive: 60, .srv(priority: 0, weight: 0, port: 1, target: name))
        machine.receive(
            .success(DNSAnswer(records: [location], canonicalName: name, timeToLive: 60, isTruncated: false)), of: 2,
            now: now)
        #expect(run().events == ["1 + ?", "2 + ?"])
    }

    @Test mutating func keepsRecordsWhileLookupsFail() throws {
        try machine.query(key, as: 1, now: now)
        _ = run()
        machine.receive(answer("A"), of: 1, now: now)
        var wait = try #require(run().wait)
        for (number, pause) in [10, 20, 40, 80, 160, 300, 300].enumerated() {
            now += wait
            #expect(run().lookups == [number + 2])
            machine.receive(.failure(ResolverError(.timedOut)), of: number + 2, now: now)
            let output = run()
            #expect(output.events.isEmpty && output.wait == .seconds(pause))
            wait = try #require(output.wait)
        }
        now += wait
        _ = run()
        machine.receive(answer("B"), of: 9, now: now)
        #expect(run().events == ["1 + B", "1 - A"])
    }

    /// A truncated answer adds services, and removes none. What it lacks is kept up to a limit.
    @Test mutating func keepsRecordsThatATruncatedAnswerLacks() throws {
        try machine.query(key, as: 1, now: now)
        _ = run()
        machine.receive(answer("A", "B"), of: 1, now: now)
        _ = run()
        func events(_ answer: Result<DNSAnswer, ResolverError>) -> [String] {
            machine.reconfirm(key, now: now)
            for lookup in run().lookups { machine.receive(answer, of: lookup, now: now) }
            return run().events
        }
        #expect(events(answer("C", "B", isTruncated: true)) == ["1 + C"])
        #expect(events(answer("A", "C")) == ["1 - B"])
        var (found, lost) = (2, 0)
        let count = WideAreaRules.maximumRecordsKept / 2
        for round in 0..<4 {
            let names = (0..<count).map { "\(round)-\($0)" }
            let events = events(answer(names, isTruncated: true))
            found += events.count { $0.hasPrefix("1 +") }
            lost += events.count { $0.hasPrefix("1 -") }
        }
        #expect(found - lost == WideAreaRules.maximumRecordsKept)
    }

    @Test mutating func verifiesAtOnce() throws {
        machine.reconfirm(key, now: now)
        #expect(run().lookups.isEmpty)
        try machine.query(key, as: 1, now: now)
        _ = run()
        machine.receive(answer("A"), of: 1, now: now)
        _ = run()
        machine.reconfirm(key, now: now)
        machine.reconfirm(key, now: now)
        #expect(run().lookups == [2])
        machine.receive(.failure(ResolverError(.hostNotFound)), of: 2, now: now)
        #expect(run().events == ["1 absent", "1 - A"])
    }

    @Test mutating func limitsConcurrentLookups() throws {
        for number in 1...100 {
            try machine.query(RecordKey(try #require(DNSName("h\(number).example.org")), .a), as: number, now: now)
        }
        var output = run()
        #expect(output.lookups == Array(1...WideAreaRules.maximumLookups) && output.wait == nil)
        for number in 1...100 {
            machine.receive(.failure(ResolverError(.noData)), of: number, now: now)
            _ = run()
        }
        output = run()
        #expect(output.lookups.isEmpty && output.wait == WideAreaRules.absenceInterval)
    }

    @Test func limitsQuestions() throws {
        var machine = WideAreaMachine(limit: 1)
        try machine.query(key, as: 1, now: now)
        try machine.query(key, as: 2, now: now)
        let other = RecordKey(DNSName.root, .ptr)
        #expect(throws: ServiceDiscoveryError(.limitReached, detail: "1 questions")) {
            try machine.query(other, as: 3, now: now)
        }
    }
}

internal import EventLoops
internal import StreamKit

/// Rules about events: which are delivered, how often, in which order, and until when.
extension ContractTrial {
    /// The target where this style's callbacks run.
    private func target() throws -> any DeliveryTarget {
        guard let target = style.makeTarget() else {
            throw ContractViolation(rule: rule, style: style, observation: "the style has no callbacks")
        }
        return target
    }

    func eventsComeInOrder() async throws {
        let log = EventLog()
        let isNew = input.status == .notOpen
        let target = try target()
        input.schedule(on: target)
        input.setClient(.all) { stream, event in
            log.append(event)
            var buffer = [UInt8](repeating: 0, count: 2)
            if event == .hasBytesAvailable { _ = try? stream.tryRead(into: &buffer) }
        }
        try await open()
        try await output.writeAll(Array("abc".utf8))
        try await pipe.end()
        await log.wait(for: .endEncountered)
        await target.settle()
        let events = log.events
        try expect(events.first == .openCompleted || !isNew, "\(events)")
        try expect(log.count(of: .openCompleted) <= 1 && log.count(of: .endEncountered) == 1, "\(events)")
        try expect(log.count(of: .hasBytesAvailable) >= 2, "\(events)")
        try expect(events.last == .endEncountered, "\(events)")
    }

    func anyOrderOfPreparing(_ makePipe: @Sendable () async throws -> BytePipe) async throws {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        for order in orders {
            let pipe = try await makePipe()
            let log = EventLog()
            let target = try target()
            for step in order {
                switch step {
                case 0:
                    pipe.input.setClient(.all) { stream, event in
                        log.append(event)
                        var buffer = [UInt8](repeating: 0, count: 100)
                        if event == .hasBytesAvailable { _ = try? stream.tryRead(into: &buffer) }
                    }
                case 1: pipe.input.schedule(on: target)
                default:
                    try await ContractTrial(rule: rule, style: style, pipe: pipe, bound: bound).open()
                }
            }
            try await pipe.output.writeAll([1])
            await log.wait(for: .hasBytesAvailable)
            try await pipe.end()
            await log.wait(for: .endEncountered)
            let events = log.events
            try expect(events.first == .openCompleted && events.last == .endEncountered, "order \(order): \(events)")
            try expect(log.count(of: .openCompleted) == 1, "order \(order): \(events)")
            pipe.input.close()
            pipe.output.close()
        }
    }

    func bytesAreReportedOncePerRead() async throws {
        let log = EventLog()
        let target = try target()
        try await open()
        input.setClient([.hasBytesAvailable]) { _, event in log.append(event) }
        input.schedule(on: target)
        var reads = 0
        for _ in 0..<3 {
            await target.settle()
            let told = log.events.count
            let writing = reading { [self] () async throws(StreamError) in
                try await output.writeAll(Array("abc".utf8))
            }
            await log.wait(for: .hasBytesAvailable, times: told + 1)
            await target.settle()
            try expect(log.events.count == told + 1, "\(log.events.count - told) events without a read")
            var all = 0
            while all < 3 {
                all += try await input.read(upTo: 3 - all).count
                reads += 1
            }
            _ = try await writing.value.get()
            try expect(log.events.count <= reads + 1, "\(log.events.count) events for \(reads) reads")
        }
    }

    func roomIsReportedOncePerWrite() async throws {
        let log = EventLog()
        let target = try target()
        try await open()
        let draining = reading { [self] () async throws(StreamError) in try await input.readAll(limit: 100) }
        output.setClient([.canAcceptBytes]) { _, event in log.append(event) }
        output.schedule(on: target)
        for time in 1...3 {
            await log.wait(for: .canAcceptBytes, times: time)
            await target.settle()
            try expect(log.events.count == time, "\(log.events.count) events before write \(time)")
            _ = try await output.write([1])
        }
        output.setClient([], nil)
        try await pipe.end()
        let all = try await draining.value.get()
        try expect(all == [1, 1, 1], "\(all) came out")
    }

    func onlyWantedEvents() async throws {
        let log = EventLog()
        let target = try target()
        input.setClient([.endEncountered]) { _, event in log.append(event) }
        input.schedule(on: target)
        try await open()
        let writing = reading { [self] () async throws(StreamError) in
            try await output.writeAll(Array("abc".utf8))
            try await pipe.end()
        }
        var all: [UInt8] = []
        while all.count < 3 { all += try await input.read(upTo: 3) }
        _ = try await writing.value.get()
        let end = try await input.read(upTo: 1)
        await log.wait(for: .endEncountered)
        await target.settle()
        try expect(end.isEmpty && log.events == [.endEncountered], "\(log.events)")
    }

    func closeInCallbackIsLast(_ makePipe: @Sendable () async throws -> BytePipe) async throws {
        for last in [StreamEvent.openCompleted, .hasBytesAvailable, .endEncountered] {
            let pipe = try await makePipe()
            let log = EventLog()
            let target = try target()
            pipe.input.setClient(.all) { stream, event in
                log.append(event)
                var buffer = [UInt8](repeating: 0, count: 1)
                if event == last {
                    stream.close()
                    stream.setClient([], nil)
                    stream.unschedule(from: target)
                } else if event == .hasBytesAvailable {
                    _ = try? stream.tryRead(into: &buffer)
                }
            }
            pipe.input.schedule(on: target)
            try pipe.input.status == .notOpen ? pipe.input.open() : ()
            try pipe.output.status == .notOpen ? pipe.output.open() : ()
            let writing = reading { () async throws(StreamError) in
                try await pipe.output.opened()
                try await pipe.output.writeAll(Array("abc".utf8))
                try await pipe.end()
            }
            await log.wait(for: last)
            await target.settle()
            try expect(log.events.last == last, "after close in \(last): \(log.events)")
            try expect(pipe.input.status == .closed, "the status is \(pipe.input.status)")
            pipe.leave()
            pipe.output.close()
            _ = await writing.value
        }
    }

    func callbackMayReadToTheEnd() async throws {
        let log = EventLog()
        let seen = Locked<[UInt8]>([])
        let target = try target()
        try await open()
        input.setClient(.all) { stream, event in
            log.append(event)
            guard event == .hasBytesAvailable else { return }
            while let piece = try? stream.read(upTo: 100), !piece.isEmpty {
                seen.withLock { $0.append(contentsOf: piece) }
            }
        }
        input.schedule(on: target)
        let bytes = ContractTrial.pattern(3_000)
        try await output.writeAll(bytes)
        try await pipe.end()
        await log.wait(for: .endEncountered)
        try expect(log.count(of: .hasBytesAvailable) == 1, "\(log.events)")
        try expect(seen.withLock { $0 } == bytes, "other bytes came out")
    }

    func replacedClientIsSilent() async throws {
        let old = EventLog()
        let new = EventLog()
        let target = try target()
        try await open()
        input.setClient([.hasBytesAvailable]) { _, event in old.append(event) }
        input.schedule(on: target)
        let writing = reading { [self] () async throws(StreamError) in try await output.writeAll([1, 2]) }
        await old.wait(for: .hasBytesAvailable)
        input.setClient([.hasBytesAvailable, .endEncountered]) { stream, event in
            new.append(event)
            var buffer = [UInt8](repeating: 0, count: 1)
            if event == .hasBytesAvailable { _ = try? stream.tryRead(into: &buffer) }
        }
        _ = try await writing.value.get()
        try await pipe.end()
        await new.wait(for: .endEncountered)
        await target.settle()
        try expect(old.events == [.hasBytesAvailable], "the old client was told \(old.events)")
        input.setClient([], nil)
        input.unschedule(from: target)
    }

    func stylesAlternate() async throws {
        let log = EventLog()
        let target = try target()
        try await open()
        input.setClient([.hasBytesAvailable, .endEncountered]) { _, event in log.append(event) }
        input.schedule(on: target)
        for round in 0..<30 {
            let byte = UInt8(round)
            let pending = reading { [self] () async throws(StreamError) in
                try await [StreamStyle.async, .blocking, .polling][round % 3].read(input, upTo: 1)
            }
            if round % 3 != 2 { await untilReading() }
            try await output.writeAll([byte])
            let piece = try await pending.value.get()
            try expect(piece == [byte], "round \(round): \(piece)")
        }
        let told = log.count(of: .hasBytesAvailable)
        let writing = reading { [self] () async throws(StreamError) in try await output.writeAll([1]) }
        await log.wait(for: .hasBytesAvailable, times: told + 1)
        _ = try await input.read(upTo: 1)
        _ = try await writing.value.get()
        try await pipe.end()
        while try await !input.read(upTo: 1).isEmpty {}
        await log.wait(for: .endEncountered)
    }
}

/// The events delivered to a client, in order. Tests wait for an event rather than for time.
private final class EventLog: Sendable {
    private let state = Locked<[StreamEvent]>([])

    var events: [StreamEvent] { state.withLock { $0 } }

    func append(_ event: StreamEvent) {
        state.withLock { $0.append(event) }
    }

    func count(of event: StreamEvent) -> Int {
        events.filter { $0 == event }.count
    }

    /// Waits until the given number of events of one kind has been delivered.
    func wait(for event: StreamEvent, times: Int = 1) async {
        while count(of: event) < times, !Task.isCancelled { await Task.yield() }
    }
}

extension DeliveryTarget {
    /// Returns once everything on its way to this target through the loop has been delivered.
    fileprivate func settle() async {
        for _ in 0..<4 {
            await withCheckedContinuation { continuation in EventLoop.shared.execute { continuation.resume() } }
            await withCheckedContinuation { continuation in
                let kept = Locked<(any DeliverySignal)?>(nil)
                let signal = makeSignal { continuation.resume() }
                kept.withLock { $0 = signal }
                signal.signal()
            }
        }
    }
}

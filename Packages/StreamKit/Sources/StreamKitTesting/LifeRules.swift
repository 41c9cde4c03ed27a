internal import EventLoops
internal import StreamKit

/// Rules about the life cycle of a stream and about calls that wait.
extension ContractTrial {
    func statusFollowsTheLifeCycle() async throws {
        if input.status == .notOpen {
            let other = BytePipe(output: output, input: input)
            try expect(other.input.error == nil, "an error before open")
        }
        try await open()
        try expect(input.status == .open && output.status == .open, "open: \(input.status), \(output.status)")
        let pending = reading { [self] () async throws(StreamError) in try await style.read(input) }
        await untilReading()
        try await output.writeAll([7])
        let byte = try await pending.value.get()
        try expect(byte == [7], "read \(byte)")
        try expect(input.status == .open, "after the read: \(input.status)")
        try await pipe.end()
        let end = try await style.read(input)
        try expect(end.isEmpty && input.status == .atEnd, "at the end: \(end), \(input.status)")
        input.close()
        try expect(input.status == .closed, "after close: \(input.status)")
        input.close()
        output.close()
        try expect([.closed, .error].contains(output.status), "after close: \(output.status)")
    }

    func wrongStatesThrow() async throws {
        if input.status == .notOpen, output.status == .notOpen {
            try await expect(.notOpen, "a read before open") { () async throws(StreamError) in
                try await input.read(upTo: 1)
            }
            try await expect(.notOpen, "a write before open") { () async throws(StreamError) in
                try await output.write([1])
            }
        }
        try await open()
        try await expect(.alreadyOpened, "a second open") { () throws(StreamError) in try input.open() }
        try expect(input.status == .open, "a second open made the status \(input.status)")
        input.close()
        output.close()
        try await expect(.closed, "a read after close") { () async throws(StreamError) in try await input.read(upTo: 1)
        }
        try await expect(.closed, "a try after close") { () throws(StreamError) in
            var buffer: [UInt8] = [0]
            return try input.tryRead(into: &buffer)
        }
        try await expect(.closed, "a write after close") { () async throws(StreamError) in try await output.write([1]) }
        try await expect(.closed, "open after close") { () throws(StreamError) in try input.open() }
        try expect(input.descriptor == nil && output.descriptor == nil, "a closed stream has a descriptor")
    }

    func secondCallerIsBusy() async throws {
        try await open()
        let pending = reading { [self] () async throws(StreamError) in try await style.read(input) }
        await untilReading()
        try await expect(.busy, "a second read") { () async throws(StreamError) in try await input.read(upTo: 1) }
        try await expect(.busy, "a try beside a read") { () throws(StreamError) in
            var buffer: [UInt8] = [0]
            return try input.tryRead(into: &buffer)
        }
        try await output.writeAll([1])
        let byte = try await pending.value.get()
        try expect(byte == [1], "the first read returned \(byte)")
        if bound == nil { return }
        let filled = try fill()
        let writing = reading { [self] () async throws(StreamError) in
            try await style == .async
                ? output.writeAll(surplus) : onThread { () throws(StreamError) in try output.writeAll(surplus) }
            try await pipe.end()
        }
        await untilWriting()
        try await expect(.busy, "a second write") { () async throws(StreamError) in try await output.write([1]) }
        let all = try await style.readAll(input)
        _ = try await writing.value.get()
        try expect(all == filled + surplus, "wrote \(filled.count + surplus.count) bytes, read \(all.count)")
    }

    func closingWakesWaitingCalls() async throws {
        try await open()
        let read = reading { [self] () async throws(StreamError) in try await style.read(input) }
        await untilReading()
        var write: Task<Result<Void, StreamError>, Never>?
        if bound != nil {
            _ = try fill()
            write = reading { [self] () async throws(StreamError) in
                while true { _ = try await style.write([1], to: output) }
            }
            await untilWriting()
            output.close()
            if case .failure(let error)? = await write?.value {
                try expect(error == .closed, "the write threw \(error)")
            }
            try expect(output.status == .closed, "the closed writer's status is \(output.status)")
        }
        // The read may have succeeded with the bytes written above.
        input.close()
        if case .failure(let error) = await read.value { try expect(error == .closed, "the read threw \(error)") }
        try expect(input.status == .closed, "the closed reader's status is \(input.status)")
    }

    func cancelledReadConsumesNothing() async throws {
        try await open()
        for _ in 0..<20 {
            let pending = reading { [self] () async throws(StreamError) in try await input.read(upTo: 10) }
            await untilReading()
            pending.cancel()
            guard case .failure(.cancelled) = await pending.value else {
                return try expect(false, "the cancelled read did not throw .cancelled")
            }
        }
        try expect(input.status == .open, "after the cancellation the status is \(input.status)")
        try await output.writeAll(Array("all".utf8))
        try await pipe.end()
        let all = try await style.readAll(input)
        try expect(all == Array("all".utf8), "after the cancellation a read returned \(all)")
    }

    func cancelledWriteFails() async throws {
        if bound == nil { return }
        try await open()
        _ = try fill()
        let pending = reading { [self] () async throws(StreamError) in
            while true { _ = try await output.write([1]) }
        }
        await untilWriting()
        pending.cancel()
        guard case .failure(.cancelled) = await pending.value else {
            return try expect(false, "the cancelled write did not throw .cancelled")
        }
        try expect(output.status == .error, "after the cancellation the status is \(output.status)")
        try await expect(.cancelled, "a later write") { () async throws(StreamError) in try await output.write([1]) }
    }

    func lateReadConsumesNothing() async throws {
        try await open()
        try input.set(.readTimeout, to: .milliseconds(1))
        try await expect(.timedOut, "a read of nothing") { () async throws(StreamError) in try await style.read(input) }
        try input.set(.readTimeout, to: nil)
        try expect(input.status == .open, "after the limit the status is \(input.status)")
        let pending = reading { [self] () async throws(StreamError) in try await style.read(input) }
        try await output.writeAll([5])
        let byte = try await pending.value.get()
        try expect(byte == [5], "after the time limit a read returned \(byte)")
    }

    func lateWriteFails() async throws {
        if bound == nil { return }
        try await open()
        try output.set(.writeTimeout, to: .milliseconds(1))
        _ = try fill()
        try await expect(.timedOut, "writes without room") { () async throws(StreamError) in
            while true { _ = try await style.write([1], to: output) }
        }
        try expect(output.status == .error, "after the limit the status is \(output.status)")
    }

    func releasingCloses(_ makePipe: @Sendable () async throws -> BytePipe) async throws {
        let input = try await inputAlone(makePipe)
        // The read must end or fail; it must not wait for a writer that no longer exists.
        if let bytes = try? await input.read(upTo: 1) { try expect(bytes.isEmpty, "a released writer wrote") }
    }

    /// The input of a new pipe whose other objects have been released.
    private func inputAlone(_ makePipe: @Sendable () async throws -> BytePipe) async throws -> ReadStream {
        let other = try await makePipe()
        try await ContractTrial(rule: rule, style: style, pipe: other, bound: bound).open()
        return other.input
    }
}

internal import HTTPMessage

@testable internal import HTTP2

extension FuzzTarget {
    /// Frames: whole and in pieces, with the same parts.
    static let http2Frames = FuzzTarget(name: "http2-frames") { bytes in
        let whole = frameParts(bytes, inPiecesOf: max(1, bytes.count))
        for size in [1, 7] where size < bytes.count {
            precondition(frameParts(bytes, inPiecesOf: size) == whole, "pieces of \(size) bytes: another result")
        }
    }

    /// What a server sends to a client, behind its first SETTINGS. The first byte chooses what the program does meanwhile.
    static let http2Client = FuzzTarget(name: "http2-client") { bytes in
        guard let choice = bytes.first else { return }
        let whole = HTTP2Conversation.client(bytes.dropFirst(), choice, inPiecesOf: max(1, bytes.count))
        for size in [1, 13] where size < bytes.count {
            let pieces = HTTP2Conversation.client(bytes.dropFirst(), choice, inPiecesOf: size)
            precondition(pieces.error == whole.error, "pieces of \(size) bytes: \(pieces.error), not \(whole.error)")
        }
    }

    /// What a client sends to a server, behind the preface. The first byte chooses what the program does meanwhile.
    static let http2Server = FuzzTarget(name: "http2-server") { bytes in
        guard let choice = bytes.first else { return }
        let whole = HTTP2Conversation.server(bytes.dropFirst(), choice, inPiecesOf: max(1, bytes.count))
        for size in [1, 13] where size < bytes.count && !whole.answers {
            let pieces = HTTP2Conversation.server(bytes.dropFirst(), choice, inPiecesOf: size)
            precondition(pieces.error == whole.error, "pieces of \(size) bytes: \(pieces.error), not \(whole.error)")
        }
    }

    /// The parts of frames, with the content of each frame joined, and the error.
    private static func frameParts(_ bytes: [UInt8], inPiecesOf size: Int) -> [String] {
        var parser = FrameParser()
        var parts: [String] = []
        var content: [UInt8] = []
        do throws(HTTP2Error) {
            for start in stride(from: 0, to: bytes.count, by: size) {
                let piece = Array(bytes[start..<min(bytes.count, start + size)])
                var offset = 0
                while let part = try parser.next(in: piece.span.bytes, at: &offset) {
                    if case .content(let range) = part {
                        content += piece[range]
                    } else {
                        parts.append("\(content) \(part)")
                        content = []
                    }
                }
                precondition(offset == piece.count)
            }
        } catch {
            parts.append("\(error)")
        }
        return parts
    }
}

/// A machine and a program that reads, takes, answers and closes, as the bits of a choice say.
private struct HTTP2Conversation {
    var error = ""
    private let choice: UInt8
    private var now = Duration.zero

    private init(_ choice: UInt8) {
        self.choice = choice
    }

    private var reads: Bool { choice & 1 != 0 }
    /// The frames behind an answer are late or early, depending on how the input is cut.
    var answers: Bool { choice & 2 != 0 }
    private var advances: Bool { choice & 4 != 0 }
    /// How much of each piece of data the program takes at once.
    private func taken(_ data: RawSpan) -> Int {
        switch choice >> 5 & 3 {
        case 1: data.byteCount
        case 2: data.byteCount / 2
        default: 0
        }
    }

    static func client(_ bytes: ArraySlice<UInt8>, _ choice: UInt8, inPiecesOf size: Int) -> HTTP2Conversation {
        var conversation = HTTP2Conversation(choice)
        var machine = HTTP2ClientMachine(now: .zero)
        for _ in 0..<3 {
            guard var head = try? HTTPRequest(method: .post, target: "/") else { return conversation }
            try? head.fields.set("a", for: .host)
            guard let stream = try? machine.request(HTTP2Request(head, scheme: "https"), endsHere: false, now: .zero)
            else { return conversation }
            _ = try? machine.send([1, 2, 3].span.bytes, on: stream, endsHere: choice & 8 != 0, now: .zero)
        }
        do throws(HTTP2Error) {
            try machine.receive(settings.span.bytes, now: .zero)
            for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: size) {
                let piece = Array(bytes[start..<min(bytes.endIndex, start + size)])
                try machine.receive(piece.span.bytes, now: conversation.now) { conversation.taken($1) }
                while let event = machine.nextEvent() {
                    if case .readable(let stream) = event, conversation.reads { conversation.read(&machine, stream) }
                }
                if size > 1 { conversation.check(machine.connection) }
                machine.didWrite(machine.outputCount)
            }
            if conversation.advances { try machine.tick(now: .seconds(1)) }
        } catch {
            conversation.error = "\(error.code) \(error.rule)"
        }
        conversation.check(machine.connection)
        return conversation
    }

    static func server(_ bytes: ArraySlice<UInt8>, _ choice: UInt8, inPiecesOf size: Int) -> HTTP2Conversation {
        var conversation = HTTP2Conversation(choice)
        var machine = HTTP2ServerMachine(allowsConnectProtocol: choice & 16 != 0, now: .zero)
        do throws(HTTP2Error) {
            try machine.receive((ConnectionPreface.bytes + settings).span.bytes, now: .zero)
            for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: size) {
                let piece = Array(bytes[start..<min(bytes.endIndex, start + size)])
                try machine.receive(piece.span.bytes, now: conversation.now) { conversation.taken($1) }
                conversation.serve(&machine)
                if size > 1 { conversation.check(machine.connection) }
                machine.didWrite(machine.outputCount)
            }
            if conversation.advances { try machine.tick(now: .seconds(1)) }
        } catch {
            conversation.error = "\(error.code) \(error.rule)"
        }
        conversation.check(machine.connection)
        return conversation
    }

    private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]

    /// Closes the streams that were reset, and answers each request when it has ended.
    private func serve(_ machine: inout HTTP2ServerMachine) {
        while let event = machine.nextEvent() {
            switch event {
            case .reset(let stream, _): machine.close(stream, now: now)
            case .readable(let stream) where reads:
                var memory = [UInt8](repeating: 0, count: 100)
                var span = memory.mutableSpan
                var target = span.mutableBytes
                _ = try? machine.read(stream, into: &target, now: now)
            case .ended(let stream) where answers:
                guard let response = try? HTTPResponse(status: .ok) else { return }
                try? machine.respond(stream, with: response, endsHere: false, now: now)
                let body = [UInt8](repeating: 1, count: 3000)
                _ = try? machine.send(body.span.bytes, on: stream, endsHere: false, now: now)
            default: break
            }
        }
        while machine.nextWritable() != nil {}
    }

    private func read(_ machine: inout HTTP2ClientMachine, _ stream: StreamID) {
        var memory = [UInt8](repeating: 0, count: 100)
        var span = memory.mutableSpan
        var target = span.mutableBytes
        _ = try? machine.read(stream, into: &target, now: now)
    }

    /// What must hold whatever the peer sends.
    private func check(_ connection: borrowing HTTP2Connection) {
        let window = connection.receiveWindow
        precondition(window.available + window.unread + window.pending == window.size && window.unread >= 0)
        var sum = connection.limits.connectionWindowReserve
        var openCount = 0
        for index in connection.streams.indices {
            let stream = connection.streams[index]
            let window = stream.receiveWindow
            precondition(window.available + window.unread + window.pending == window.size && window.unread >= 0)
            precondition(stream.body.capacity <= max(Int(window.size), BodyRing.keptCapacity))
            sum += window.size
            if stream.state != .closed { openCount += 1 }
        }
        precondition(window.size == sum && connection.openCount == openCount)
        precondition(connection.streams.count <= connection.limits.maximumConcurrentStreams)
        precondition(connection.writer.count <= connection.limits.maximumQueuedAnswers + 4096)
    }
}

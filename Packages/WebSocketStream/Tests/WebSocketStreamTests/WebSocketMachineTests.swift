import Testing

@testable import WebSocketStream

@Suite struct WebSocketMachineTests {
    // MARK: Masking

    /// RFC 6455 §5.7: a masked and an unmasked text.
    @Test func readsTheExamplesOfTheRFC() throws {
        var server = WebSocketMachine(.server)
        server.receive([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(try server.nextEvent() == .message(.text("Hello")))
        var client = WebSocketMachine(.client)
        client.receive([0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
        #expect(try client.nextEvent() == .message(.text("Hello")))
        try server.send(.text("Hello"))
        #expect(server.takeOutput() == [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F])
    }

    @Test func masksWithTheInjectedGenerator() throws {
        struct Fixed: RandomNumberGenerator {
            func next() -> UInt64 { UInt64(0x3D21_FA37) << 32 | 0x3D21_FA37 }
        }
        var client = WebSocketMachine(.client, random: Fixed())
        try client.send(.text("Hello"))
        #expect(client.takeOutput() == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
    }

    @Test(arguments: 0..<40)
    func masksFromEachPosition(_ count: Int) {
        let mask = WebSocketMask(1, 2, 3, 4)
        for position in 0..<5 {
            var bytes = [UInt8](repeating: 0, count: count + 1)
            mask.apply(to: &bytes, from: 1, at: position)
            #expect(bytes == [0] + (0..<count).map { UInt8(($0 + position) % 4 + 1) })
        }
    }

    /// A frame of the wrong side is refused (RFC 6455 §5.1).
    @Test(arguments: WebSocketMachine.Role.allCases)
    func refusesWrongMasking(_ role: WebSocketMachine.Role) {
        var machine = WebSocketMachine(role)
        machine.receive(WireFrame.text("a").bytes(masked: role == .client))
        #expect(throws: WebSocketError.self) { try machine.nextEvent() }
    }

    // MARK: Lengths

    /// A length that is not in its shortest form, or has 64 bits (RFC 6455 §5.2).
    @Test(
        arguments: [
            [0x82, 126, 0, 125], [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]])
    func refusesLength(_ bytes: [UInt8]) {
        var client = WebSocketMachine(.client)
        client.receive(bytes)
        #expect(performing { _ = try client.nextEvent() }?.code == .protocolError)
    }

    @Test func limitsFrames() {
        var limits = WebSocketLimits()
        limits.frameLength = 1000
        var echo = Echo(.client, limits: limits)
        echo.receive([.binary([UInt8](repeating: 0, count: 1000))])
        #expect(echo.error == nil)
        echo.receive([0x82, 126, 0x03, 0xE9])
        #expect(echo.sent.last == .close(1009))
        #expect(echo.error?.code == .messageTooLong)
    }

    /// The largest possible length is refused at its header.
    @Test func refusesHugeFrame() {
        var echo = Echo(.client)
        echo.receive([0x82, 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
        #expect(echo.sent == [.close(1009)])
    }

    @Test func limitsMessages() {
        var limits = WebSocketLimits()
        limits.messageLength = 1000
        var echo = Echo(.client, limits: limits)
        let half = [UInt8](repeating: 0, count: 500)
        echo.receive([.binary(half, isFinal: false), .more(half, isFinal: true)])
        #expect(echo.sent.map(\.payload.count) == [1000])
        echo.receive([.binary(half, isFinal: false), .more(half + [0], isFinal: true)])
        #expect(echo.sent.last == .close(1009))
    }

    @Test func limitsFragments() {
        var limits = WebSocketLimits()
        limits.fragmentCount = 10
        var echo = Echo(.client, limits: limits)
        let empty = [WireFrame](repeating: .more([], isFinal: false), count: 9)
        echo.receive([.binary([], isFinal: false)] + empty)
        #expect(echo.error == nil)
        echo.receive([.more([], isFinal: false)])
        #expect(echo.sent.last == .close(1009))
    }

    /// 16 MiB of zeros are about 16 KiB compressed.
    @Test func limitsDecompression() throws {
        let agreement = WebSocketCompressionAgreement(WebSocketCompression())
        var limits = WebSocketLimits()
        limits.messageLength = 1 << 20
        var deflater = MessageDeflater(agreement)
        let compressed = deflater.compress([UInt8](repeating: 0, count: 16 << 20))
        let bomb = try #require(compressed)
        #expect(bomb.count < 32768)
        var echo = Echo(.client, limits: limits, compression: agreement)
        echo.receive([.binary(bomb, reserved: 4)])
        #expect(echo.sent == [.close(1009)])
    }

    @Test(arguments: [[0xFF, 0xFF, 0xFF, 0xFF], [0x07], [0x00, 0x01, 0x02, 0x03]] as [[UInt8]])
    func refusesInvalidCompression(_ bytes: [UInt8]) {
        var echo = Echo(.client, compression: WebSocketCompressionAgreement(WebSocketCompression()))
        echo.receive([.binary(bytes, reserved: 4), .binary([1, 2, 3], reserved: 4)])
        #expect(echo.sent.last == .close(1007))
        #expect(echo.error?.code == .invalidPayload)
    }

    /// RFC 7692 §7.2.3: "Hello", alone, in fragments, with a shared window, stored, and with a final block.
    @Test func readsTheCompressedExamplesOfTheRFC() {
        let agreement = WebSocketCompressionAgreement(WebSocketCompression())
        var echo = Echo(.client, compression: agreement)
        echo.receive([0xC1, 0x07, 0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00])
        echo.receive([0x41, 0x03, 0xF2, 0x48, 0xCD, 0x80, 0x04, 0xC9, 0xC9, 0x07, 0x00])
        echo.receive([0xC1, 0x05, 0xF2, 0x00, 0x11, 0x00, 0x00])
        echo.receive([0xC1, 0x0B, 0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00])
        echo.receive([0xC1, 0x08, 0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00])
        echo.receive([0xC1, 0x0D, 0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00])
        #expect(echo.error == nil)
        #expect(echo.sent == [WireFrame](repeating: .text("Hello"), count: 6))
    }

    /// The first reserved bit belongs to the first frame of a data message only (RFC 7692 §6.1).
    @Test(arguments: [
        [WireFrame(opcode: 9, payload: [], reserved: 4)],
        [.text("a", isFinal: false), WireFrame(opcode: 0, payload: [], reserved: 4)],
        [.text("a", reserved: 6)],
    ])
    func refusesCompressedBit(_ frames: [WireFrame]) {
        var echo = Echo(.client, compression: WebSocketCompressionAgreement(WebSocketCompression()))
        echo.receive(frames)
        #expect(echo.sent == [.close(1002)])
    }

    // MARK: Closing

    @Test func closes() throws {
        var client = WebSocketMachine(.client)
        var server = WebSocketMachine(.server)
        try client.close(WebSocketClosure(code: .goingAway, reason: "bye"))
        #expect(client.state == .closing)
        #expect(throws: WebSocketError.self) { try client.send(.text("late")) }
        // Messages can be received until the answer.
        try server.send(.text("last"))
        client.receive(server.takeOutput())
        #expect(try client.nextEvent() == .message(.text("last")))
        server.receive(client.takeOutput())
        #expect(try server.nextEvent() == .close(WebSocketClosure(code: .goingAway, reason: "bye")))
        #expect(server.state == .closed)
        client.receive(server.takeOutput())
        #expect(try client.nextEvent() == .close(WebSocketClosure(code: .goingAway)))
        #expect(client.state == .closed)
        try client.receiveEnd()
        try server.receiveEnd()
    }

    /// A ping after our Close frame is not answered.
    @Test func sendsNothingAfterClose() throws {
        var client = WebSocketMachine(.client)
        try client.close(WebSocketClosure(code: .normalClosure))
        _ = client.takeOutput()
        client.receive(WireFrame.ping([1]).bytes(masked: false) + WireFrame.text([0xFF]).bytes(masked: false))
        #expect(try client.nextEvent() == .ping([1]))
        #expect(throws: WebSocketError.self) { try client.nextEvent() }
        #expect(!client.hasOutput)
    }

    @Test func refusesWhatCannotBeSent() {
        var machine = WebSocketMachine(.server)
        for code: UInt16 in [0, 999, 1004, 1006, 1015, 1016, 2999, 5000] {
            let closure = WebSocketClosure(code: WebSocketCloseCode(rawValue: code))
            #expect(performing { try machine.close(closure) }?.code == .invalidArgument)
        }
        let long = WebSocketClosure(code: .normalClosure, reason: String(repeating: "ä", count: 62))
        #expect(performing { try machine.close(long) }?.code == .invalidArgument)
        let nameless = WebSocketClosure(code: .noStatusReceived, reason: "a")
        #expect(performing { try machine.close(nameless) }?.code == .invalidArgument)
        #expect(performing { try machine.ping([UInt8](repeating: 0, count: 126)) }?.code == .invalidArgument)
        #expect(machine.state == .open)
        #expect(!machine.hasOutput)
    }

    @Test func reportsALostConnection() {
        var machine = WebSocketMachine(.server)
        #expect(performing { try machine.receiveEnd() }?.code == .connectionLost)
        #expect(machine.state == .failed)
    }

    /// A peer that sends pings and does not read receives the answer to the last one; the others take no memory.
    @Test func limitsAnswers() throws {
        var server = WebSocketMachine(.server)
        for index in 0..<10000 {
            server.receive(
                WireFrame.ping([UInt8](repeating: UInt8(index & 0xFF), count: 125)).bytes(masked: true))
            _ = try server.nextEvent()
        }
        var output = server.takeOutput()
        #expect(output.count < WebSocketMachine.maximumAnswersLength + 256)
        let answers = WireFrame.take(from: &output)
        #expect(answers.last == .pong([UInt8](repeating: UInt8(9999 & 0xFF), count: 125)))
    }

    // MARK: Random input

    /// Random and mutated bytes: the machine throws or waits, and holds no more than its limits allow.
    @Test(arguments: 0..<64)
    func survivesRandomBytes(_ seed: Int) {
        var random = Generator(seed: UInt64(seed))
        var limits = WebSocketLimits()
        limits.messageLength = 4096
        limits.frameLength = 4096
        for round in 0..<60 {
            let role: WebSocketMachine.Role = round % 2 == 0 ? .server : .client
            let compression = round % 3 == 0 ? WebSocketCompressionAgreement(WebSocketCompression()) : nil
            var machine = WebSocketMachine(role, limits: limits, compression: compression)
            var bytes = randomBytes(round, role, &random)
            while !bytes.isEmpty {
                let count = min(bytes.count, Int(random.next() % 64) + 1)
                machine.receive(bytes[..<count])
                bytes.removeFirst(count)
                guard let events = try? drain(&machine) else { break }
                for case .message(let message) in events { #expect(message.bytes.count <= 4096) }
            }
            #expect(machine.takeOutput().count <= WebSocketMachine.maximumAnswersLength + 256)
        }
    }

    /// Bytes of which some are valid frames.
    private func randomBytes(
        _ round: Int, _ role: WebSocketMachine.Role, _ random: inout Generator
    ) -> [UInt8] {
        if round % 5 == 0 { return (0..<400).map { _ in UInt8(truncatingIfNeeded: random.next()) } }
        var bytes: [UInt8] = []
        for _ in 0..<12 {
            let payload = (0..<Int(random.next() % 140)).map { _ in UInt8(truncatingIfNeeded: random.next() % 128) }
            let frame = WireFrame(
                opcode: [0, 1, 2, 8, 9, 10, 1, 2][Int(random.next() % 8)], payload: payload,
                isFinal: random.next() % 3 != 0, reserved: random.next() % 4 == 0 ? 4 : 0)
            bytes += frame.bytes(masked: role == .server)
        }
        let index = Int(random.next() % UInt64(bytes.count))
        bytes[index] ^= UInt8(truncatingIfNeeded: random.next())
        return bytes
    }

    private func drain(_ machine: inout WebSocketMachine) throws -> [WebSocketMachine.Event] {
        var events: [WebSocketMachine.Event] = []
        while let event = try machine.nextEvent() { events.append(event) }
        return events
    }
}

/// The error of a call; nil if there is none.
func performing(_ body: () throws -> Void) -> WebSocketError? {
    do {
        try body()
        return nil
    } catch {
        return error as? WebSocketError
    }
}

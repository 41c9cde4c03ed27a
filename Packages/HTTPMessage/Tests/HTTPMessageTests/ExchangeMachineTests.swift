import HTTPMessage
import Testing

@Suite struct ExchangeMachineTests {
    typealias Machine = ExchangeMachine

    // MARK: The table

    /// Each row is a state and each column an event. A dot means that the state does not allow the event.
    ///
    /// This copy is deliberate: the table is the protocol, so a change must be made in both places.
    private static let requestTable = """
                 head  expectingHead  interim  switching  permission  data  end   offer    abandonment  malformation  close
        idle     body  held           .        .          .           .     .     .        .            failed        closed
        expected .     .              .        .          .           .     .     .        .            .             .
        held     .     .              .        .          body        body  done  offered  last         failed        .
        body     .     .              .        .          body        body  done  offered  last         failed        .
        done     .     .              .        .          .           .     .     .        .            .             closed
        last     .     .              .        .          .           .     .     .        .            .             closed
        offered  .     .              .        .          .           .     .     .        .            .             closed
        switched .     .              .        .          .           .     .     .        .            .             closed
        closed   .     .              .        .          .           .     .     .        .            .             closed
        failed   .     .              .        .          .           .     .     .        .            .             failed
        """

    private static let responseTable = """
                 head  expectingHead  interim   switching  permission  data  end   offer    abandonment  malformation  close
        idle     .     .              .         .          .           .     .     .        .            .             closed
        expected body  .              expected  switched   .           .     .     .        .            .             .
        held     .     .              .         .          .           .     .     .        .            .             .
        body     .     .              .         .          .           body  done  .        .            .             .
        done     .     .              .         .          .           .     .     .        .            .             closed
        last     .     .              .         .          .           .     .     .        .            .             closed
        offered  .     .              .         .          .           .     .     .        .            .             closed
        switched .     .              .         .          .           .     .     .        .            .             closed
        closed   .     .              .         .          .           .     .     .        .            .             closed
        failed   .     .              .         .          .           .     .     .        .            .             failed
        """

    @Test(arguments: [(Machine.Message.request, requestTable), (.response, responseTable)])
    func tableMatchesTheCopy(_ message: Machine.Message, _ table: String) {
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        let events = lines[0]
        #expect(events == Machine.Event.allCases.map { "\($0)" })
        #expect(lines.dropFirst().map { $0[0] } == Machine.State.allCases.map { "\($0)" })
        for (state, line) in zip(Machine.State.allCases, lines.dropFirst()) {
            for (event, cell) in zip(Machine.Event.allCases, line.dropFirst()) {
                let next = Machine.next(message, state, event).map { "\($0)" } ?? "."
                #expect(next == cell, "\(message): \(state), \(event)")
            }
        }
    }

    // MARK: Conversations

    /// A step of an exchange.
    enum Step: Sendable {
        case request([String] = [], HTTPMethod = .put)
        case requestData, permit, endRequest, abandon, refuse, closeRequest
        case response(Int, [String] = ["Content-Length: 5"])
        case responseData, endResponse, closeResponse
    }

    /// Passes the steps to a machine and throws the first error.
    private func play(_ role: Machine.Role = .client, _ steps: [Step]) throws -> Machine {
        var machine = Machine(role)
        for step in steps { _ = try take(step, &machine) }
        return machine
    }

    @discardableResult
    private func take(_ step: Step, _ machine: inout Machine) throws -> String {
        switch step {
        case .request(let lines, let method):
            let head = try requestHead(lines, method)
            return try "\(machine.beginRequest(head, framing: .of(head)))"
        case .response(let status, let lines): return try "\(machine.beginResponse(responseHead(status, lines)))"
        case .requestData: try machine.requestData()
        case .permit: machine.permitBody()
        case .endRequest: try machine.endRequest()
        case .abandon: machine.abandonRequest()
        case .refuse: machine.refuseRequest()
        case .closeRequest: try machine.closeRequest()
        case .responseData: try machine.responseData()
        case .endResponse: try machine.endResponse()
        case .closeResponse: try machine.closeResponse()
        }
        return ""
    }

    private func requestHead(_ lines: [String], _ method: HTTPMethod) throws -> HTTPRequest {
        let target = method == .connect ? "a:443" : "/"
        let version = lines.contains("1.0") ? "1.0" : "1.1"
        let fields = lines.filter { $0 != "1.0" }.map { $0 + "\r\n" }.joined()
        let bytes = Array("\(method) \(target) HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n".utf8)
        var parser = HeadParser(.request)
        _ = try parser.parse(bytes.span.bytes)
        return try parser.makeRequest(from: bytes.span.bytes)
    }

    private func responseHead(_ status: Int, _ lines: [String]) throws -> HTTPResponse {
        let version = lines.contains("1.0") ? "1.0" : "1.1"
        let fields = lines.filter { $0 != "1.0" }.map { $0 + "\r\n" }.joined()
        let bytes = Array("HTTP/\(version) \(status) X\r\n\(fields)\r\n".utf8)
        var parser = HeadParser(.response)
        _ = try parser.parse(bytes.span.bytes)
        return try parser.makeResponse(from: bytes.span.bytes)
    }

    private static let length = ["Content-Length: 5"]
    private static let expecting = ["Content-Length: 5", "Expect: 100-continue"]

    @Test(arguments: [
        // Persistence (RFC 9112 §9.3).
        ([Step.request([], .get), .response(200), .endResponse], Machine.Outcome.reusable),
        ([.request([], .get), .response(200)], .underway),
        ([.request([], .get), .response(204, [])], .reusable),
        ([.request([], .head), .response(200)], .reusable),
        ([.request([], .get), .response(200, ["Content-Length: 5", "Connection: close"]), .endResponse], .close),
        ([.request(["Connection: close"], .get), .response(200), .endResponse], .close),
        ([.request(["1.0"], .get), .response(200), .endResponse], .close),
        ([.request(["1.0", "Connection: keep-alive"], .get), .response(200), .endResponse], .reusable),
        ([.request([], .get), .response(200, ["1.0", "Content-Length: 5"]), .endResponse], .close),
        ([.request([], .get), .response(200, []), .endResponse, .closeResponse], .close),
        ([.request([], .get), .response(200, []), .responseData, .endResponse], .close),
        // Early responses (RFC 9112 §9.5): the request's end decides.
        ([.request(length), .response(200), .endResponse], .requestUnderway),
        ([.request(length), .response(200), .endResponse, .requestData, .endRequest], .reusable),
        ([.request(length), .response(413), .endResponse, .abandon], .close),
        ([.request(length), .response(413), .abandon, .endResponse], .close),
        // 100 (Continue) (RFC 9110 §10.1.1).
        ([.request(expecting), .response(100, []), .endRequest, .response(201), .endResponse], .reusable),
        ([.request(expecting), .permit, .endRequest, .response(100, []), .response(201), .endResponse], .reusable),
        ([.request(expecting), .requestData, .endRequest, .response(201), .endResponse], .reusable),
        ([.request(expecting), .response(417), .endResponse], .close),
        ([.request(expecting), .response(200), .endResponse], .close),
        // Upgrades and tunnels.
        ([.request([], .connect), .response(200, [])], .switched),
        ([.request([], .connect), .response(407), .endResponse], .reusable),
        ([.request(["Upgrade: b", "Connection: upgrade"], .get), .response(101, ["Upgrade: b"])], .switched),
        ([.request(["Upgrade: b", "Connection: upgrade"], .get), .response(200), .endResponse], .reusable),
        (
            [
                .request(["Upgrade: b", "Connection: upgrade"], .get), .response(101, []), .closeRequest,
                .closeResponse,
            ], .close
        ),
        // Ends of the connection.
        ([], .underway),
        ([.closeResponse], .close),
        ([.closeRequest, .closeResponse], .close),
        ([.request([], .get), .closeRequest, .response(200)], .underway),
        ([.request([], .get), .closeRequest, .response(200), .endResponse], .close),
        ([.request([], .get), .response(200), .endResponse, .closeResponse], .close),
        // A server rejects an invalid or late request.
        ([.refuse], .underway),
        ([.refuse, .response(400), .endResponse], .close),
        ([.request(length), .refuse, .response(400), .endResponse], .close),
    ])
    func outcome(_ steps: [Step], _ outcome: Machine.Outcome) throws {
        for role in Machine.Role.allCases { #expect(try play(role, steps).outcome == outcome) }
    }

    @Test(arguments: [
        ([Step.request([], .get)], "complete"),
        ([.request(length)], "body"),
        ([.request(expecting)], "awaitContinue"),
        ([.request(["Expect: 100-continue"], .get)], "complete"),
        ([.request(["Content-Length: 0", "Expect: 100-continue"])], "complete"),
        ([.request(["1.0", "Content-Length: 5", "Expect: 100-continue"])], "body"),
        ([.request([], .get), .response(100, [])], "interim"),
        ([.request(expecting), .response(103, [])], "interim"),
        ([.request(expecting), .response(100, [])], "continueRequest"),
        ([.request(expecting), .response(100, []), .response(100, [])], "interim"),
        ([.request(expecting), .permit, .response(100, [])], "interim"),
        ([.request(expecting), .response(200)], "body(HTTPMessage.BodyFraming.length(5), stopsRequest: true)"),
        ([.request(length), .response(200)], "body(HTTPMessage.BodyFraming.length(5), stopsRequest: false)"),
        ([.request(length), .response(302)], "body(HTTPMessage.BodyFraming.length(5), stopsRequest: true)"),
        (
            [.request(length), .endRequest, .response(413)],
            "body(HTTPMessage.BodyFraming.length(5), stopsRequest: true)"
        ),
        // The head may not have been sent to its end.
        ([.request([], .get), .response(404)], "body(HTTPMessage.BodyFraming.length(5), stopsRequest: true)"),
        ([.request([], .connect), .response(200, [])], "switchProtocol"),
    ])
    func action(_ steps: [Step], _ action: String) throws {
        var machine = try play(.client, steps.dropLast())
        let last = try #require(steps.last)
        #expect(try take(last, &machine) == action)
    }

    @Test(arguments: [
        // Events that a client must not cause and a server must not accept.
        ([Step.requestData], HTTPMessageError.Code.outOfOrder, Machine.Message.request),
        ([.endRequest], .outOfOrder, .request),
        ([.request([], .get), .request([], .get)], .outOfOrder, .request),
        ([.request([], .get), .requestData], .outOfOrder, .request),
        ([.request(length), .endRequest, .requestData], .outOfOrder, .request),
        ([.request(length), .abandon, .requestData], .outOfOrder, .request),
        ([.request([], .connect), .requestData], .outOfOrder, .request),
        ([.request(length), .closeRequest], .truncated, .request),
        ([.request(expecting), .closeRequest], .truncated, .request),
        ([.closeRequest, .request([], .get)], .outOfOrder, .request),
        ([.closeResponse, .request([], .get)], .outOfOrder, .request),
        // Events that a server must not cause and a client must not accept.
        ([.response(200)], .outOfOrder, .response),
        ([.response(100, [])], .outOfOrder, .response),
        ([.request([], .get), .responseData], .outOfOrder, .response),
        ([.request([], .get), .endResponse], .outOfOrder, .response),
        ([.request([], .get), .response(200), .response(200)], .outOfOrder, .response),
        ([.request([], .get), .response(200), .response(100, [])], .outOfOrder, .response),
        ([.request([], .get), .response(204, []), .responseData], .outOfOrder, .response),
        ([.request([], .get), .response(101, [])], .outOfOrder, .response),
        ([.request(length, .connect), .response(200, [])], .outOfOrder, .response),
        ([.request(["Upgrade: b"], .get), .response(101, [])], .outOfOrder, .response),
        ([.request(["1.0", "Upgrade: b", "Connection: upgrade"], .get), .response(101, [])], .outOfOrder, .response),
        ([.request([], .get), .closeResponse], .truncated, .response),
        ([.request([], .get), .response(200), .closeResponse], .truncated, .response),
        (
            [.request([], .get), .response(200, ["Content-Length: 1", "Content-Length: 2"])], .repeatedContentLength,
            .response
        ),
    ])
    func refusal(_ steps: [Step], _ code: HTTPMessageError.Code, _ message: Machine.Message) throws {
        for role in Machine.Role.allCases {
            var machine = try play(role, steps.dropLast())
            let last = try #require(steps.last)
            let error = #expect(throws: HTTPMessageError.self) { try take(last, &machine) }
            #expect(error?.code == code)
            #expect((message == .request ? machine.request : machine.response) == .failed)
            #expect(machine.outcome == .close || message == .request)
            if code != .repeatedContentLength {
                #expect(error?.fault == ((message == .request) == (role == .client) ? .caller : .peer))
            }
        }
    }

    @Test func interimResponsesAreLimited() throws {
        var machine = try play(.client, [.request([], .get)])
        for _ in 0..<HTTPLimits.interimResponses { try take(.response(103, []), &machine) }
        #expect(machine.interimCount == HTTPLimits.interimResponses)
        let error = #expect(throws: HTTPMessageError.self) { try take(.response(103, []), &machine) }
        #expect(error?.code == .tooManyInterimResponses)
    }

    @Test(arguments: [
        ([Step.request(expecting)], true),
        ([.request(length)], false),
        ([.request(expecting), .requestData], false),
        ([.request(expecting), .permit], false),
        ([.request(expecting), .response(103, [])], true),
        ([.request(expecting), .response(200)], false),
        ([.request(expecting), .refuse], false),
    ])
    func determinesWhetherContinueIsNeeded(_ steps: [Step], _ needsContinue: Bool) throws {
        #expect(try play(.server, steps).needsContinue == needsContinue)
    }

    /// A machine never traps, whatever the order of events, and `reusable` means that both messages are complete.
    @Test func everyShortConversationIsConsistent() throws {
        let steps: [Step] = [
            .request([], .get), .request(Self.expecting), .request([], .connect), .requestData, .permit, .endRequest,
            .abandon, .refuse, .closeRequest, .response(100, []), .response(101, []), .response(200),
            .response(200, []),
            .responseData, .endResponse, .closeResponse,
        ]
        var machines = [Machine(.server)]
        for _ in 0..<5 {
            machines = machines.flatMap { machine in
                steps.map { step in
                    var next = machine
                    _ = try? take(step, &next)
                    return next
                }
            }
            // Keeps only distinct machines; otherwise there would be a million.
            var seen = Set<String>()
            machines = machines.filter { seen.insert("\($0)").inserted }
            for machine in machines {
                switch machine.outcome {
                case .reusable: #expect(machine.request == .done && machine.response == .done)
                case .requestUnderway: #expect(machine.request == .body && machine.response == .done)
                case .switched: #expect(machine.response == .switched)
                case .underway, .close: break
                }
                if machine.request == .failed || machine.request == .closed { #expect(machine.outcome != .reusable) }
                if machine.response == .failed { #expect(machine.outcome == .close) }
            }
        }
        #expect(machines.count > 50)
    }

    // MARK: Decisions of a client

    /// RFC 9110 §7.8.
    @Test(arguments: [
        (["Upgrade: websocket"], true), (["Upgrade: WebSocket"], true), ([], false), (["Upgrade: h2c"], false),
        (["Upgrade: websocket2"], false), (["Upgrade: websocke"], false), (["Upgrade: websoc\u{212A}et"], false),
    ])
    func onlyTheOfferedProtocolIsAccepted(_ lines: [String], _ isAccepted: Bool) throws {
        let response = try responseHead(101, lines)
        var machine = Machine(.client)
        try machine.beginRequest(.get, framing: .none, offersSwitch: true)
        if isAccepted {
            #expect(try machine.beginResponse(response, offering: "websocket") == .switchProtocol)
        } else {
            let error = #expect(throws: HTTPMessageError.self) {
                try machine.beginResponse(response, offering: "websocket")
            }
            #expect(error?.code == .outOfOrder && machine.outcome == .close)
        }
    }

    /// RFC 9110 §10.1.1. Once the body is being sent, a 417 is a response like others.
    @Test(arguments: [
        ([Step.request(expecting)], 417, true), ([.request(expecting)], 413, false),
        ([.request(expecting), .permit], 417, false), ([.request(expecting), .abandon], 417, false),
        ([.request(["Content-Length: 5"])], 417, false), ([.request([])], 417, false),
    ])
    func aBodyThatWaitsCanBeRefused(_ steps: [Step], _ status: Int, _ isRefused: Bool) throws {
        #expect(try play(.client, steps).isExpectationRefused(by: #require(HTTPStatus(status))) == isRefused)
    }

    /// RFC 9110 §15.5.9.
    @Test(arguments: [
        ([Step.request([], .get)], 408, true), ([.request([], .get)], 400, false), ([.request([], .post)], 408, false),
        ([.request([], .get), .response(103, [])], 408, false), ([.request([], .put)], 408, true),
    ])
    func aTimeoutMayHaveCrossedTheRequest(_ steps: [Step], _ status: Int, _ hasCrossed: Bool) throws {
        #expect(try play(.client, steps).hasCrossed(#require(HTTPStatus(status))) == hasCrossed)
    }

    /// RFC 9110 §9.2.2.
    @Test(arguments: [
        ([Step.request([], .get)], true, true), ([.request([], .get)], false, true),
        ([.request([], .post)], true, false), ([.request([], .post)], false, true),
        ([.request([], .put)], true, true), ([.request([], "PROPFIND")], true, false),
        ([.request([], .get), .response(103, [])], true, false), ([.request([], .get), .response(200)], true, false),
        ([.request(expecting, .put), .response(100, [])], true, false), ([], false, false),
    ])
    func aRequestMayBeRepeatedBeforeAResponse(_ steps: [Step], _ isSent: Bool, _ mayRepeat: Bool) throws {
        #expect(try play(.client, steps).mayRepeatRequest(isSent: isSent) == mayRepeat)
    }

    @Test(arguments: [
        (413, 65537, Machine.Outcome.close), (413, 65536, .reusable), (400, 65537, .close), (399, 65537, .reusable),
        (200, .max, .reusable), (500, .max, .close),
    ])
    func aRefusalAfterALargeBodyIsTheLastExchange(_ status: Int, _ count: Int64, _ outcome: Machine.Outcome) throws {
        var machine = try play(.client, [.request(["Content-Length: 5"]), .endRequest, .response(status)])
        machine.endPersistence(ifRefused: try #require(HTTPStatus(status)), after: count)
        try machine.endResponse()
        #expect(machine.outcome == outcome)
    }
}

/// The states of a stream, and the table of their transitions (RFC 9113 §5.1).
///
/// This file contains the rules of the diagram in RFC 9113 §5.1 and no others. It knows neither the role of this endpoint nor
/// identifiers, windows and messages. There are no reserved states: these machines refuse pushes, so a PUSH_PROMISE is an error of
/// the connection in every state, and has no column. Neither has PRIORITY, which is allowed in every state and has no effect.
///
///                         HEADERS                  HEADERS with END_STREAM
///                idle ─────────────► open          idle ─────────────► half-closed
///
///                       END_STREAM sent                 END_STREAM received
///                open ─────────────► half-closed (local) ─────────────► closed
///                open ─────────────► half-closed (remote) ────────────► closed
///                     END_STREAM received                END_STREAM sent
///
///                RST_STREAM, sent or received: any of them ───────────► closed
enum StreamState: Int, Hashable, Sendable, CaseIterable {
    /// No frame was sent or received.
    case idle
    /// Both sides may send.
    case open
    /// This side has sent END_STREAM.
    case halfClosedLocal
    /// The peer has sent END_STREAM.
    case halfClosedRemote
    /// Both sides have sent END_STREAM, or one has sent RST_STREAM.
    case closed

    /// What happens on a stream.
    enum Event: Int, CaseIterable {
        case headers
        /// HEADERS with END_STREAM.
        case headersEnd
        case data
        /// DATA with END_STREAM.
        case dataEnd
        case resetStream
        case windowUpdate

        /// The type of the frame.
        var frame: FrameKind {
            switch self {
            case .headers, .headersEnd: .headers
            case .data, .dataEnd: .data
            case .resetStream: .resetStream
            case .windowUpdate: .windowUpdate
            }
        }
    }

    /// Whether this side receives or sends the frame.
    enum Direction: Int, CaseIterable {
        case receive
        case send
    }

    /// The effect of an event.
    enum Transition: Hashable, Sendable {
        /// The stream has this state from here on.
        case to(StreamState)
        /// Received: the frame has no effect. It may have been sent before its sender knew that the stream was closed.
        case ignore
        /// Received: an error of the stream. The peer is sent RST_STREAM with this code.
        case streamError(ErrorCode)
        /// Received: an error of the connection.
        case connectionError(ErrorCode)
        /// Sent: a mistake of the program, or a frame that the peer does not need.
        case forbidden
    }

    /// Returns the effect of an event on a stream in this state.
    @inline(__always)
    func transition(_ event: Event, _ direction: Direction) -> Transition {
        Self.table[(direction.rawValue * Self.allCases.count + rawValue) * Event.allCases.count + event.rawValue]
    }

    // The columns of a table:
    // swift-format-ignore
    private static let table: [Transition] = {
        let open = Transition.to(.open), local = Transition.to(.halfClosedLocal)
        let remote = Transition.to(.halfClosedRemote), closed = Transition.to(.closed)
        let ignore = Transition.ignore, forbid = Transition.forbidden
        // The codes of RFC 9113 §5.1: a frame before the stream, behind its end, and on a stream that both sides have ended.
        let early = Transition.connectionError(.protocolError)
        let late = Transition.streamError(.streamClosed)
        let ended = Transition.connectionError(.streamClosed)
        return [
            // HEADERS +END    DATA    +END    RST     WINDOW    received in the state
            [ open,    remote, early,  early,  early,  early  ],  // idle
            [ open,    remote, open,   remote, closed, open   ],  // open
            [ local,   closed, local,  closed, closed, local  ],  // half-closed (local)
            [ late,    late,   late,   late,   closed, remote ],  // half-closed (remote)
            [ ended,   ended,  late,   late,   ignore, ignore ],  // closed
            // HEADERS +END    DATA    +END    RST     WINDOW    sent in the state
            [ open,    local,  forbid, forbid, forbid, forbid ],  // idle
            [ open,    local,  open,   local,  closed, open   ],  // open
            [ forbid,  forbid, forbid, forbid, closed, local  ],  // half-closed (local)
            [ remote,  closed, remote, closed, closed, forbid ],  // half-closed (remote): the peer sends no more
            [ forbid,  forbid, forbid, forbid, closed, forbid ],  // closed: RST_STREAM answers what came late
        ].flatMap { $0 }
    }()
}

extension StreamState: CustomStringConvertible {
    /// The name of RFC 9113 §5.1.
    var description: String {
        switch self {
        case .idle: "idle"
        case .open: "open"
        case .halfClosedLocal: "half-closed (local)"
        case .halfClosedRemote: "half-closed (remote)"
        case .closed: "closed"
        }
    }
}

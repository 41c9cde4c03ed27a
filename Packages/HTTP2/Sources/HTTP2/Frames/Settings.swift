internal import HPACK

/// The settings of one endpoint (RFC 9113 §6.5.2), which apply to what its peer sends.
///
/// ```swift
/// let machine = HTTP2ClientMachine(now: .zero)
/// machine.peerSettings.maximumConcurrentStreams  // nil, until the server says otherwise
/// ```
public struct HTTP2Settings: Hashable, Sendable {
    /// SETTINGS_HEADER_TABLE_SIZE: the maximum size of the encoder's dynamic table. 4,096 initially.
    public internal(set) var headerTableSize = 4096
    /// SETTINGS_ENABLE_PUSH: whether a server may push. True initially; these machines always set it to false.
    public internal(set) var isPushEnabled = true
    /// SETTINGS_MAX_CONCURRENT_STREAMS: how many streams the endpoint accepts at once; nil if it has stated no limit. Until its first
    /// SETTINGS, a client opens at most 100.
    public internal(set) var maximumConcurrentStreams: Int?
    /// SETTINGS_INITIAL_WINDOW_SIZE: the window of new streams. 65,535 bytes initially.
    public internal(set) var initialWindowSize: Int64 = SendWindow.initial
    /// SETTINGS_MAX_FRAME_SIZE. 16,384 bytes initially. These machines never send larger frames.
    public internal(set) var maximumFrameSize = 16_384
    /// SETTINGS_MAX_HEADER_LIST_SIZE: the largest list of fields that the endpoint accepts; nil if it has not said.
    public internal(set) var maximumHeaderListSize: Int?
    /// SETTINGS_ENABLE_CONNECT_PROTOCOL: whether a server accepts extended CONNECT (RFC 8441 §3). Nil before its first SETTINGS.
    public internal(set) var isConnectProtocolEnabled: Bool?
    /// SETTINGS_NO_RFC7540_PRIORITIES: whether the endpoint ignores the priorities of RFC 7540 (RFC 9218 §2.1). Nil before its
    /// first SETTINGS, and the same ever after.
    public internal(set) var ignoresRFC7540Priorities: Bool?

    init() {}

    /// Applies an entry of the peer's SETTINGS.
    ///
    /// Unknown settings are ignored. Throws connection errors for values that RFC 9113 §6.5.2 forbids.
    mutating func apply(_ setting: Setting, from sender: HTTP2Role) throws(HTTP2Error) {
        let value = setting.value
        switch setting.id {
        case .headerTableSize: headerTableSize = Int(value)
        case .enablePush:
            // Only a client can enable push.
            try require(value <= (sender == .client ? 1 : 0), setting)
            isPushEnabled = value == 1
        case .maximumConcurrentStreams: maximumConcurrentStreams = Int(value)
        case .initialWindowSize:
            try require(Int64(value) <= SendWindow.maximum, setting, .flowControlError)
            initialWindowSize = Int64(value)
        case .maximumFrameSize:
            try require((16_384...16_777_215).contains(value), setting)
            maximumFrameSize = Int(value)
        case .maximumHeaderListSize: maximumHeaderListSize = Int(value)
        case .enableConnectProtocol:
            try require(value <= 1 && (value == 1 || isConnectProtocolEnabled != true), setting, rule: "RFC 8441 §3")
            isConnectProtocolEnabled = value == 1
        case .noRFC7540Priorities:
            let isUnchanged = ignoresRFC7540Priorities.map { $0 == (value == 1) } ?? true
            try require(value <= 1 && isUnchanged, setting, rule: "RFC 9218 §2.1")
            ignoresRFC7540Priorities = value == 1
        default: break
        }
    }

    /// Acts on the end of the first SETTINGS: what they leave out has its initial value. That of the priorities cannot change later (RFC
    /// 9218 §2.1).
    mutating func endFirstSettings() {
        isConnectProtocolEnabled = isConnectProtocolEnabled ?? false
        ignoresRFC7540Priorities = ignoresRFC7540Priorities ?? false
    }

    private func require(
        _ condition: Bool, _ setting: Setting, _ code: ErrorCode = .protocolError, rule: String = "RFC 9113 §6.5.2"
    ) throws(HTTP2Error) {
        if !condition {
            throw .connection(code, rule, "the value \(setting.value) of the setting \(setting.id.rawValue)")
        }
    }
}

/// An entry of a SETTINGS frame (RFC 9113 §6.5.1).
struct Setting: Hashable, Sendable, BitwiseCopyable {
    /// The number of bytes of an entry.
    static let size = 6

    var id: SettingID
    var value: UInt32

    init(_ id: SettingID, _ value: UInt32) {
        self.id = id
        self.value = value
    }

    /// Reads the entry with this index from the payload of a frame.
    init(_ payload: RawSpan, at index: Int) {
        let offset = index * Self.size
        id = SettingID(rawValue: UInt16(payload.byte(at: offset)) << 8 | UInt16(payload.byte(at: offset + 1)))
        value = payload.bigEndian32(at: offset + 2)
    }
}

/// The identifier of a setting (RFC 9113 §6.5.2, RFC 8441 §3, RFC 9218 §2.1).
struct SettingID: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
    let rawValue: UInt16

    static let headerTableSize = SettingID(rawValue: 0x1)
    static let enablePush = SettingID(rawValue: 0x2)
    static let maximumConcurrentStreams = SettingID(rawValue: 0x3)
    static let initialWindowSize = SettingID(rawValue: 0x4)
    static let maximumFrameSize = SettingID(rawValue: 0x5)
    static let maximumHeaderListSize = SettingID(rawValue: 0x6)
    static let enableConnectProtocol = SettingID(rawValue: 0x8)
    static let noRFC7540Priorities = SettingID(rawValue: 0x9)
}

/// Properties about the cost of an interface, which Linux does not know. Every stream keeps and returns the values;
/// they have no effect.
extension StreamProperty where Value == Bool {
    /// Whether to avoid cellular interfaces. No effect. Default false.
    ///
    /// Replaces `kCFStreamPropertyNoCellular`.
    public static var forbidsCellular: Self { .init("StreamKit.forbidsCellular", access: .beforeOpen, default: false) }

    /// Whether the connection uses a cellular interface. Always false, since Linux does not know.
    ///
    /// Replaces `kCFStreamPropertyConnectionIsCellular`.
    public static var isCellular: Self { .init("StreamKit.isCellular", access: .readOnly, default: false) }

    /// Whether to use expensive interfaces. No effect. Default true.
    ///
    /// Replaces `kCFStreamPropertyAllowExpensiveNetworkAccess`.
    public static var allowsExpensiveAccess: Self {
        .init("StreamKit.allowsExpensiveAccess", access: .beforeOpen, default: true)
    }

    /// Whether the connection uses an expensive interface. Nil before it is connected, then false, since Linux does not
    /// know.
    ///
    /// Replaces `kCFStreamPropertyConnectionIsExpensive`.
    public static var isExpensive: Self { .init("StreamKit.isExpensive", access: .readOnly) }

    /// Whether to use interfaces in data-saving mode. No effect. Default true.
    ///
    /// Replaces `kCFStreamPropertyAllowConstrainedNetworkAccess`.
    public static var allowsConstrainedAccess: Self {
        .init("StreamKit.allowsConstrainedAccess", access: .beforeOpen, default: true)
    }

    /// Whether to keep the connection while the program is suspended. No effect. Default false.
    ///
    /// Replaces `kCFStreamPropertySocketExtendedBackgroundIdleMode`.
    public static var extendsBackgroundIdle: Self {
        .init("StreamKit.extendsBackgroundIdle", access: .beforeOpen, default: false)
    }
}

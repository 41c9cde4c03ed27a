/// What Apple's platforms know of the cost of an interface. Linux does not: every stream keeps these for the caller and returns
/// them, and they change nothing.
extension StreamProperty where Value == Bool {
    /// Do without cellular interfaces. No effect. Default false.
    ///
    /// Replaces `kCFStreamPropertyNoCellular`.
    public static var forbidsCellular: Self { .init("StreamKit.forbidsCellular", access: .beforeOpen, default: false) }

    /// Whether the connection goes over a cellular interface: false, since nothing tells.
    ///
    /// Replaces `kCFStreamPropertyConnectionIsCellular`.
    public static var isCellular: Self { .init("StreamKit.isCellular", access: .readOnly, default: false) }

    /// Use interfaces that cost money, too. No effect. Default true.
    ///
    /// Replaces `kCFStreamPropertyAllowExpensiveNetworkAccess`.
    public static var allowsExpensiveAccess: Self {
        .init("StreamKit.allowsExpensiveAccess", access: .beforeOpen, default: true)
    }

    /// Whether the connection's interface costs money: nil before it is connected, then false, since nothing tells.
    ///
    /// Replaces `kCFStreamPropertyConnectionIsExpensive`.
    public static var isExpensive: Self { .init("StreamKit.isExpensive", access: .readOnly) }

    /// Use interfaces in data-saving mode, too. No effect. Default true.
    ///
    /// Replaces `kCFStreamPropertyAllowConstrainedNetworkAccess`.
    public static var allowsConstrainedAccess: Self {
        .init("StreamKit.allowsConstrainedAccess", access: .beforeOpen, default: true)
    }

    /// Keep the connection while the program sleeps. No effect. Default false.
    ///
    /// Replaces `kCFStreamPropertySocketExtendedBackgroundIdleMode`.
    public static var extendsBackgroundIdle: Self {
        .init("StreamKit.extendsBackgroundIdle", access: .beforeOpen, default: false)
    }
}

/// What an entry of a listing is.
public enum ListingKind: Sendable, Hashable, CaseIterable {
    /// A plain file.
    case file
    /// A directory.
    case directory
    /// A symbolic link.
    case link
    /// A device that is read byte by byte.
    case characterDevice
    /// A device that is read in blocks.
    case blockDevice
    /// A named pipe.
    case fifo
    /// A Unix socket.
    case socket
    /// The line does not tell, or tells what we do not know.
    case unknown

    /// The number of `d_type` in `readdir(3)`, which `kCFFTPResourceType` has.
    public var directoryEntryType: UInt8 {
        switch self {
        case .unknown: 0
        case .fifo: 1
        case .characterDevice: 2
        case .directory: 4
        case .blockDevice: 6
        case .file: 8
        case .link: 10
        case .socket: 12
        }
    }
}

/// The subject of a lookup of names.
public enum NameSubject: Hashable, Sendable {
    /// An address: a reverse lookup finds its names.
    case address(IPAddress)
    /// A host name: the lookup finds its canonical name.
    case host(HostName)
}

extension NameSubject: CustomStringConvertible {
    /// The address or the name as text.
    public var description: String {
        switch self {
        case .address(let address): address.description
        case .host(let name): name.description
        }
    }
}

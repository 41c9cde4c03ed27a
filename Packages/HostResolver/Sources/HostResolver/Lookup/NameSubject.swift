/// What names are asked for.
public enum NameSubject: Hashable, Sendable {
    /// The names of an address: a reverse look-up.
    case address(IPAddress)
    /// The main name of a host that is known by another.
    case host(HostName)
}

extension NameSubject: CustomStringConvertible {
    /// The address or the name.
    public var description: String {
        switch self {
        case .address(let address): address.description
        case .host(let name): name.description
        }
    }
}

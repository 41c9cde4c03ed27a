/// Why a thread that blocked at one place and minded others woke; see ``WaitPoint/block(_:for:until:minding:)``.
public enum BlockedWake: Sendable, Hashable {
    /// What ended the wait at the place itself.
    case here(Wake)

    /// What ended a wait at this one of the other places.
    case elsewhere(Int, Wake)
}

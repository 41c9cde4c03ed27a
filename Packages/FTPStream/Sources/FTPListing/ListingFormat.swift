/// The shapes of lines that servers send.
public enum ListingFormat: String, Sendable, Hashable, CaseIterable {
    /// Facts and a name: MLSD, MLST (RFC 3659 §7).
    case facts
    /// `ls -l` and its many imitations, those of Mac servers among them.
    case unix
    /// NetWare's rights in brackets.
    case netware
    /// Windows and IIS.
    case windows
    /// OpenVMS, also with a long name on a line of its own.
    case vms
    /// OS/400 (IBM i), native objects and members.
    case os400
    /// z/OS data sets.
    case mvs
    /// Members of z/OS partitioned data sets.
    case mvsMembers
    /// OS/2.
    case os2
    /// HP NonStop (Guardian).
    case nonStop
    /// Easily Parsed LIST Format (publicfile, anonftpd).
    case eplf
    /// A name and nothing else, as NLST gives. Never assumed, since any line would do: name it.
    case names
}

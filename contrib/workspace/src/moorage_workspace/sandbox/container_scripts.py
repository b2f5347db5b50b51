"""What runs inside the container: four scripts for any POSIX shell, which is all that an image must have.

A container's own process 1 is the keeper. Each command runs below a launcher, whose environment carries the mark
``MOORAGE_COMMAND=<id>`` that its descendants inherit. So a sweep finds them wherever they went: by the mark, and, where
one has cleared its environment, because an orphan without a mark belongs to nobody. Sweeping forks nothing, so that it
works with every process slot taken, and it stops processes before it kills them, so that none forks away meanwhile.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "MOORAGE_COMMAND"

KEEPER: Final = """
exec 3<&0
cat <&3 >/dev/null &
echo "$$ $!"
exec 3<&- </dev/null
wait
"""
"""Says its pid and that of the process that holds standard input; ends, and the container with it, when that closes.

So the container never outlives the program that started it. Waiting reaps every orphan.
"""

_SWEEP: Final = r"""
moorage_mark_of() {
  moorage_mark=none
  while IFS= read -r moorage_line || [ -n "$moorage_line" ]; do
    case $moorage_line in
      *MOORAGE_COMMAND="$moorage_id"*) moorage_mark=own ;;
      *MOORAGE_COMMAND=*) [ $moorage_mark = own ] || moorage_mark=other ;;
    esac
  done <"$1/environ"
}
moorage_look_at() {
  moorage_state= moorage_parent=
  while read -r moorage_key moorage_value moorage_rest; do
    case $moorage_key in
      State:) moorage_state=$moorage_value ;;
      PPid:) moorage_parent=$moorage_value; break ;;
    esac
  done <"$1/status"
  moorage_mark=gone
  case $moorage_state in ''|Z|X) ;; *) moorage_mark_of "$1" ;; esac
}
moorage_sweep() {
  moorage_id=$1 moorage_spared=" $$ $2 " moorage_stopped=' ' moorage_pass=0
  while [ $moorage_pass -lt 1000 ]; do
    moorage_pass=$((moorage_pass + 1)) moorage_found= moorage_new=
    for moorage_dir in /proc/[0-9]*; do
      moorage_pid=${moorage_dir#/proc/}
      case $moorage_spared in *" $moorage_pid "*) continue ;; esac
      moorage_look_at "$moorage_dir"
      case $moorage_mark/$moorage_parent in own/*|none/1) ;; *) continue ;; esac
      moorage_found=1
      case $moorage_stopped in *" $moorage_pid "*) continue ;; esac
      kill -STOP "$moorage_pid"
      moorage_new=1 moorage_stopped="$moorage_stopped$moorage_pid "
    done
    [ -n "$moorage_found" ] || return 0
    [ -z "$moorage_new" ] || continue
    kill -KILL $moorage_stopped
    moorage_stopped=' '
  done
  return 1
}
"""

LAUNCH: Final = (
    _SWEEP
    + r"""
unset MOORAGE_LAUNCH
moorage_token=$1 moorage_id=$2 moorage_keeper=$3
cd -P -- "$4" 2>/dev/null || { echo "$moorage_token missing" >&2; exit 1; }
shift 4
moorage_inside=
while [ "$1" != -- ]; do
  case $PWD/ in "$1"/*) moorage_inside=1 ;; esac
  shift
done
shift
[ -n "$moorage_inside" ] || { echo "$moorage_token outside" >&2; exit 1; }
moorage_count=0
while [ "$1" != -- ]; do
  eval "export $1=\"\$MOORAGE_VALUE_$moorage_count\"; unset MOORAGE_VALUE_$moorage_count"
  moorage_count=$((moorage_count + 1))
  shift
done
shift
trap : TERM
echo "$moorage_token $$" >&2
exec 9>&2 2>/dev/null
(exec "$@") 2>&9 9>&-
moorage_code=$?
exec 9>&- >/dev/null
moorage_sweep "$moorage_id" "$moorage_keeper"
exit $moorage_code
"""
)
"""Runs one command: ``token id keeper-pids cwd root… -- name… -- program argument…``.

Its first line on standard error is the token with its pid, or with the reason why it runs nothing; what came before was
the container program's. The values of the variables come in neutral ones, so that they neither stand in an argument
list nor change what the container program itself does. So does this script, which nobody wants to see in ``ps``.
Whatever the command left behind ends with it.
"""

TERMINATE: Final = (
    _SWEEP
    + r"""
exec 2>/dev/null
moorage_id=$1 moorage_spared=" $$ $2 $3 "
for moorage_dir in /proc/[0-9]*; do
  moorage_pid=${moorage_dir#/proc/}
  case $moorage_spared in *" $moorage_pid "*) continue ;; esac
  moorage_look_at "$moorage_dir"
  [ $moorage_mark != own ] || kill -TERM "$moorage_pid"
done
"""
)
"""Asks all processes of one command to end: ``id keeper-pids launcher-pid``. The launcher goes on, and reports."""

SWEEP: Final = _SWEEP + 'exec 2>/dev/null\nmoorage_sweep "$1" "$2"\n'
"""Kills all processes of one command, its launcher included: ``id keeper-pids``. Fails if some cannot be killed."""

WRITE: Final = r"""
moorage_name=$1
cd -P -- "$2" || exit 3
shift 2
moorage_root=$PWD
for moorage_part in "$@"; do
  [ -d "./$moorage_part" ] || mkdir -- "./$moorage_part" || exit 3
  cd -P -- "./$moorage_part" || exit 3
  case $PWD/ in "$moorage_root"/*) ;; *) exit 4 ;; esac
done
[ ! -L "./$moorage_name" ] || exit 4
[ ! -d "./$moorage_name" ] || exit 3
cat >"./.moorage-tmp-$$" && mv -f -- "./.moorage-tmp-$$" "./$moorage_name" && exit 0
rm -f -- "./.moorage-tmp-$$"
exit 3
"""
"""Writes standard input to a file: ``name root parent…``. 4: the path leads out; 3: it cannot be written."""

# Completion of memprof and memprof-report for bash, from the programs' --help.

# Prints the long options of "COMMAND... --help", with = if they take a value.
_memprof_options() {
    "$@" --help 2>/dev/null | sed -En 's/^ +(-., +)?(--[a-z-]+=?)[][A-Za-z|=,-]*( .*)?$/\2/p'
}

# Prints the names in the list of commands, whose first heading is one of these, or in the lines about usage.
_memprof_commands() {
    "$@" --help 2>/dev/null | sed -En '/^(What happened|Commands):$/,/^$/s/^  ([a-z-]+) .*/\1/p; s/^(Usage|  or): +[^ ]+ \[OPTION\.\.\.\] ([a-z]+).*/\2/p'
}

_memprof_reply() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
    return 0
}

# Finds the first word from the word $1 on that is not an option: the command, or the program that memprof run starts.
_memprof_first() {
    local i
    for ((i = $1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --) ((i++)); break ;;
            -o | -m | =) ((i++)) ;;      # the next word is their value; bash separates --name=value into three words
            -*) ;;
            *) break ;;
        esac
    done
    echo "$((i < COMP_CWORD ? i : COMP_CWORD))"
}

# Returns true if the word is a value: --name=WORD, -o WORD.
_memprof_is_value() { [[ ${COMP_WORDS[COMP_CWORD]} == = || ${COMP_WORDS[COMP_CWORD - 1]} == @(=|-o|-m) ]]; }

# Prints the values of the option before the word, if "COMMAND... --help" lists them: --name=ONE|TWO.
_memprof_value() {
    local word=${COMP_WORDS[COMP_CWORD]} at=$((COMP_CWORD - 1))
    if [[ $word == = ]]; then word= at=$COMP_CWORD; fi
    local name=${COMP_WORDS[at - 1]}
    if [[ ${COMP_WORDS[at]} != = || ! $name =~ ^--[a-z-]+$ ]]; then return 0; fi
    _memprof_reply "$("$@" --help 2>/dev/null | sed -En "s/^ +(-., +)?$name=([a-z|-]+)( .*)?\$/\2/p" | tr '|' ' ')" "$word"
}

# Sets command to the words that name the command of memprof-report, such as "peaks" or "log info". Sets at to the last of them, or
# to the completed word if that will name the command.
_memprof_report_command() {
    command=()
    at=$(_memprof_first 1)
    while ((at < COMP_CWORD)); do
        command+=("${COMP_WORDS[at]}")
        if [[ ${command[*]} != log ]]; then break; fi
        at=$(_memprof_first $((at + 1)))
    done
}

_memprof_report() {
    local word=${COMP_WORDS[COMP_CWORD]} at
    local -a command
    _memprof_report_command
    if _memprof_is_value; then _memprof_value "$1" "${command[@]}"
    elif [[ $word == -* ]]; then _memprof_reply "$(_memprof_options "$1" "${command[@]}")" "$word"
    elif ((at == COMP_CWORD)); then _memprof_reply "$(_memprof_commands "$1" "${command[@]}")" "$word"
    fi      # otherwise, the words are logs: files
}

_memprof() {
    local word=${COMP_WORDS[COMP_CWORD]} at
    if _memprof_is_value; then _memprof_value "$1" run; return; fi
    at=$(_memprof_first 1)
    if ((at == COMP_CWORD)); then
        if [[ $word == -* ]]; then _memprof_reply "$(_memprof_options "$1")" "$word"
        else _memprof_reply "$(_memprof_commands "$1")" "$word"; fi
        return
    fi
    if [[ ${COMP_WORDS[at]} != run ]]; then
        if [[ $word == -* ]]; then _memprof_reply "$(_memprof_options "$1" "${COMP_WORDS[at]}")" "$word"; fi
        return
    fi
    at=$(_memprof_first $((at + 1)))
    if ((at < COMP_CWORD)); then
        if declare -F _command_offset >/dev/null; then _command_offset "$at"; fi     # a function of bash-completion
    elif [[ $word == -* ]]; then _memprof_reply "$(_memprof_options "$1" run)" "$word"
    else mapfile -t COMPREPLY < <(compgen -c -- "$word"); fi
}

complete -o default -F _memprof memprof
complete -o default -F _memprof_report memprof-report
